#include "runtime/cpu/packed_linear.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

#include "runtime/cpu/matmul_path.h"
#include "tests/cpu/random_rows.h"

namespace tp::cpu {
namespace {

const char* dtype_name(DType dtype) {
  return dtype == DType::kF32 ? "float32" : dtype == DType::kBF16 ? "bfloat16" : "float16";
}

std::vector<double> product(const RandomRows& x, int64_t rows, const RandomRows& w, int64_t out) {
  std::vector<double> y;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t o = 0; o < out; ++o) {
      double sum = 0;
      for (int64_t k = 0; k < x.columns; ++k) sum += x.at(r, k) * w.at(o, k);
      y.push_back(sum);
    }
  }
  return y;
}

std::vector<float> run(const PackedLinear& linear, ConstRows x, int64_t rows, const Context& context) {
  std::vector<float> y(static_cast<size_t>(rows * linear.out()), NAN);
  linear.run(x, rows, {y.data(), DType::kF32, linear.out()}, context);
  return y;
}

// Distance from the exact product, in units of what float32 sums of this length may be off.
double worst_error(const std::vector<float>& y, const std::vector<double>& exact, int64_t in) {
  double worst = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    const double error = std::abs(y[i] - exact[i]);
    if (!(error <= worst)) worst = error;  // a NaN counts
  }
  return worst / (std::sqrt(static_cast<double>(in)) * 3e-6);
}

class EachIsa : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (!isa_available(GetParam())) GTEST_SKIP() << "this CPU has no " << isa_name(GetParam());
    if (matmul_path(GetParam()) == nullptr) GTEST_SKIP() << "not built: the compiler has no " << isa_name(GetParam());
  }
  Context context() { return {pool_, KernelChoice::only(GetParam())}; }
  ThreadPool pool_{2};
};

INSTANTIATE_TEST_SUITE_P(PackedLinear, EachIsa,
                         testing::Values(Isa::kPlain, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Bf16, Isa::kAmx),
                         [](const auto& param) { return std::string(isa_name(param.param)); });

TEST_P(EachIsa, AgreesWithExactProductForEveryRowCount) {
  const int64_t out = 72, in = 328;
  for (DType dtype : {DType::kBF16, DType::kF16, DType::kF32}) {
    const RandomRows w(out, in, dtype, 1);
    const PackedLinear linear(out, in, w.dtype, {{w.rows(), out, in}}, pool_);
    for (DType x_dtype : {DType::kBF16, DType::kF32, DType::kF16}) {
      const RandomRows x(133, in, x_dtype, 2);
      const std::vector<double> exact = product(x, 133, w, out);
      for (int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17, 31, 32, 33, 133}) {
        EXPECT_LT(worst_error(run(linear, x.rows(), rows, context()),
                              std::vector<double>(exact.begin(), exact.begin() + rows * out), in),
                  1.0)
            << rows << " rows of " << dtype_name(x_dtype) << ", weight " << dtype_name(dtype);
      }
    }
  }
}

TEST_P(EachIsa, TakesAnyShape) {
  for (auto [out, in] : {std::pair<int64_t, int64_t>{1, 1}, {15, 31}, {16, 32}, {17, 33}, {33, 257}, {130, 7}}) {
    const RandomRows w(out, in, DType::kBF16, 3), x(19, in, DType::kBF16, 4);
    const PackedLinear linear(out, in, w.dtype, {{w.rows(), out, in}}, pool_);
    EXPECT_LT(worst_error(run(linear, x.rows(), 19, context()), product(x, 19, w, out), in), 1.0) << out << " x " << in;
  }
}

TEST_P(EachIsa, RoundsOnceAfterTheBias) {
  const int64_t out = 40, in = 96;
  const RandomRows w(out, in, DType::kBF16, 5), x(5, in, DType::kBF16, 6), bias(1, out, DType::kBF16, 7);
  const PackedLinear linear(out, in, w.dtype, {{w.rows(), out, in}}, pool_);
  std::vector<float> padded_bias(static_cast<size_t>(linear.out_padded()), 9.0F);
  for (int64_t o = 0; o < out; ++o) padded_bias[static_cast<size_t>(o)] = static_cast<float>(bias.at(0, o));
  const std::vector<float> sums = run(linear, x.rows(), 5, context());
  std::vector<uint16_t> y(5 * 48, 0x1234);  // rows are further apart than they are long
  linear.run(x.rows(), 5, {y.data(), DType::kBF16, 48}, context(), padded_bias.data());
  std::vector<uint16_t> half(5 * 48, 0x1234);
  linear.run(x.rows(), 5, {half.data(), DType::kF16, 48}, context(), padded_bias.data());
  for (size_t r = 0; r < 5; ++r) {
    for (size_t o = 0; o < 48; ++o) {
      const float exact = o < 40 ? sums[r * 40 + o] + static_cast<float>(bias.at(0, static_cast<int64_t>(o))) : 0;
      EXPECT_EQ(y[r * 48 + o], o < 40 ? float_to_bfloat16(exact) : 0x1234) << r << "," << o;
      EXPECT_EQ(half[r * 48 + o], o < 40 ? float_to_float16(exact) : 0x1234) << r << "," << o;
    }
  }
}

TEST_P(EachIsa, SameBitsForAnyThreadsRowsAndCut) {
  const int64_t out = 96, in = 600;
  const RandomRows w(out, in, DType::kBF16, 8), x(40, in, DType::kBF16, 9);
  const PackedLinear whole(out, in, w.dtype, {{w.rows(), out, in}}, pool_);
  const std::vector<float> y = run(whole, x.rows(), 40, context());
  ThreadPool one(1), five(5);
  EXPECT_EQ(run(whole, x.rows(), 40, {one, KernelChoice::only(GetParam())}), y);
  EXPECT_EQ(run(whole, x.rows(), 40, {five, KernelChoice::only(GetParam())}), y);
  for (int64_t rows : {1, 3, 7, 16, 17}) {
    EXPECT_EQ(run(whole, x.rows(), rows, context()), std::vector<float>(y.begin(), y.begin() + rows * out)) << rows;
  }
  const PackedLinear cut(37, in, w.dtype, {{w.from(50, 0), 37, in}}, pool_);
  const std::vector<float> part = run(cut, x.rows(), 40, context());
  for (size_t r = 0; r < 40; ++r) {
    for (size_t o = 0; o < 37; ++o) EXPECT_EQ(part[r * 37 + o], y[r * 96 + 50 + o]) << r << "," << o;
  }
}

TEST(PackedLinear, JoinsBlocksAndPadsWithZeros) {
  ThreadPool pool(2);
  const Context context{pool, KernelChoice::only(Isa::kPlain)};
  for (DType dtype : {DType::kBF16, DType::kF16, DType::kF32}) {
    // Two sources one above the other, each made of two runs of columns at odd places, with a gap.
    const RandomRows a(20, 50, dtype, 10), b(9, 50, dtype, 11), x(3, 45, dtype, 12);
    const PackedLinear linear(
        31, 45, dtype, {{a.from(0, 7), 20, 15, 0, 0}, {a.from(0, 30), 20, 11, 0, 17}, {b.from(0, 1), 9, 44, 21, 1}}, pool);
    const std::vector<float> y = run(linear, x.rows(), 3, context);
    for (int64_t r = 0; r < 3; ++r) {
      for (int64_t o = 0; o < 31; ++o) {
        double sum = 0;
        for (int64_t k = 0; k < 45; ++k) {
          double value = 0;
          if (o < 20 && k < 15) value = a.at(o, 7 + k);
          if (o < 20 && k >= 17 && k < 28) value = a.at(o, 30 + k - 17);
          if (o >= 21 && o < 30 && k >= 1) value = b.at(o - 21, 1 + k - 1);
          sum += value * x.at(r, k);
        }
        EXPECT_NEAR(y[static_cast<size_t>(r * 31 + o)], sum, 1e-4) << r << "," << o;
      }
    }
  }
}

TEST(PackedLinear, ConvertsAndTransposesSources) {
  ThreadPool pool(2);
  const Context context{pool, KernelChoice::only(Isa::kPlain)};
  const RandomRows x(2, 40, DType::kF32, 20);
  for (DType stored : {DType::kBF16, DType::kF16, DType::kF32}) {
    const RandomRows w(21, 40, stored, 21), turned(40, 21, stored, 22);
    const PackedLinear linear(42, 40, DType::kF32, {{w.rows(), 21, 40}, {turned.rows(), 21, 40, 21, 0, true}}, pool);
    const std::vector<float> y = run(linear, x.rows(), 2, context);
    for (int64_t r = 0; r < 2; ++r) {
      for (int64_t o = 0; o < 42; ++o) {
        double sum = 0;
        for (int64_t k = 0; k < 40; ++k) sum += x.at(r, k) * (o < 21 ? w.at(o, k) : turned.at(k, o - 21));
        EXPECT_NEAR(y[static_cast<size_t>(r * 42 + o)], sum, 1e-4) << dtype_name(stored) << " " << r << "," << o;
      }
    }
  }
}

TEST(PackedLinear, ReadsUnalignedSources) {
  ThreadPool pool(1);
  const RandomRows w(16, 64, DType::kBF16, 13), x(1, 64, DType::kF32, 14);
  std::vector<std::byte> moved(w.bytes.size() + 1);
  std::memcpy(moved.data() + 1, w.bytes.data(), w.bytes.size());
  const PackedLinear straight(16, 64, w.dtype, {{w.rows(), 16, 64}}, pool);
  const PackedLinear shifted(16, 64, w.dtype, {{{moved.data() + 1, DType::kBF16, 64}, 16, 64}}, pool);
  const Context context{pool, KernelChoice::only(Isa::kPlain)};
  EXPECT_EQ(run(shifted, x.rows(), 1, context), run(straight, x.rows(), 1, context));
}

TEST(PackedLinear, KeepsWhatIsNotANumberInItsRow) {
  ThreadPool pool(1);
  const RandomRows w(16, 32, DType::kBF16, 15);
  std::vector<float> x(64, 1.0F);
  x[32] = NAN;
  const PackedLinear linear(16, 32, w.dtype, {{w.rows(), 16, 32}}, pool);
  for (Isa isa : available_isas()) {
    std::vector<uint16_t> y(32);
    linear.run({x.data(), DType::kF32, 32}, 2, {y.data(), DType::kBF16, 16}, {pool, KernelChoice::only(isa)});
    for (size_t o = 0; o < 16; ++o) {
      EXPECT_TRUE(std::isfinite(bfloat16_to_float(y[o])));
      EXPECT_TRUE(std::isnan(bfloat16_to_float(y[16 + o])));
    }
  }
}

}  // namespace
}  // namespace tp::cpu
