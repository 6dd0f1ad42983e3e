// Products of integer weights with rows that are quantized too.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "runtime/cpu/integer_rows.h"
#include "runtime/cpu/matmul_path.h"
#include "runtime/cpu/packed_linear.h"
#include "tests/cpu/random_rows.h"

namespace tp::cpu {
namespace {

// Integers of a weight and one scale for all outputs and groups.
struct Integers {
  WeightFormat format;
  int64_t out, in;
  float scale;
  std::vector<uint8_t> q;  // [out, in], one byte for each, of nibbles too
  std::vector<uint8_t> zeros;
  std::vector<std::byte> packed;
  std::vector<uint16_t> scales;

  Integers(WeightFormat format_, int64_t out_, int64_t in_, float scale_, auto&& code)
      : format(format_), out(out_), in(in_), scale(scale_) {
    for (int64_t i = 0; i < out * in; ++i) q.push_back(static_cast<uint8_t>(code(i / in, i % in)));
  }
  int value(int64_t o, int64_t k) const {
    const auto at = static_cast<size_t>(o * in + k);
    if (format == WeightFormat::kInt8) return static_cast<int8_t>(q[at]);
    return q[at] - (zeros.empty() ? 8 : zeros[static_cast<size_t>((o * in + k) / group_size(format))]);
  }
  // Inputs [begin, begin + count) of all outputs.
  PackedLinear linear(int64_t begin, int64_t count, ThreadPool& pool) {
    const int64_t group = group_size(format);
    packed.clear();
    for (int64_t o = 0; o < out; ++o) {
      for (int64_t k = begin; k < begin + count; ++k) {
        const uint8_t code = q[static_cast<size_t>(o * in + k)];
        if (group == 0) packed.push_back(std::byte{code});
        if (group > 0 && k % 2 == 0) packed.push_back(std::byte(code | (q[static_cast<size_t>(o * in + k + 1)] << 4)));
      }
    }
    scales.assign(static_cast<size_t>(out * (group == 0 ? 1 : in / group)), float_to_bfloat16(scale));
    const QuantizedBlock block{
        packed.data(), scales.data(), group == 0 ? count : count / 2, group == 0 ? 1 : in / group, out, count, 0, 0,
        zeros.data()};
    return {out, count, format, {block}, pool, {DType::kBF16, !zeros.empty()}};
  }
};

std::vector<float> run(const PackedLinear& linear, ConstRows x, int64_t rows, Context context, const float* largest = nullptr) {
  context.int8_activations = true;
  std::vector<float> y(static_cast<size_t>(rows * linear.out()), -1.0F);
  linear.run(x, rows, {y.data(), DType::kF32, linear.out()}, context, nullptr, largest);
  return y;
}

class IntegersOnIsa : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (!isa_available(GetParam()) || integer_path(GetParam()) == nullptr)
      GTEST_SKIP() << "no " << isa_name(GetParam()) << " here";
  }
  ThreadPool pool_{2};
  Context context() { return {pool_, KernelChoice::only(GetParam())}; }
  Context plain() { return {pool_, KernelChoice::only(Isa::kPlain)}; }
};

INSTANTIATE_TEST_SUITE_P(IntegerProduct, IntegersOnIsa,
                         testing::Values(Isa::kPlain, Isa::kAvx2, Isa::kAvxVnni, Isa::kAvx512Vnni),
                         [](const auto& param) { return std::string(isa_name(param.param)); });

int code_of(WeightFormat format, int64_t o, int64_t k) {
  const auto mixed = static_cast<int>((o * 7919 + k * 104729 + o * k * 31) % 256);
  return format == WeightFormat::kInt8 ? mixed : mixed & 15;
}

TEST_P(IntegersOnIsa, IsTheSumOfTheIntegers) {
  constexpr int64_t kOut = 50, kIn = 640;
  RandomRows x(40, kIn, DType::kBF16, 3);
  for (WeightFormat format : {WeightFormat::kInt8, WeightFormat::kInt4Group32, WeightFormat::kInt4Group128}) {
    Integers weight(format, kOut, kIn, 1.0F, [&](int64_t o, int64_t k) { return code_of(format, o, k); });
    const PackedLinear linear = weight.linear(0, kIn, pool_);
    for (int64_t rows : {1, 2, 3, 4, 5, 7, 12, 17, 40}) {
      const std::vector<float> y = run(linear, x.rows(), rows, context());
      for (int64_t r = 0; r < rows; ++r) {
        float largest = 0;
        for (int64_t k = 0; k < kIn; ++k) largest = std::max(largest, static_cast<float>(std::abs(x.at(r, k))));
        for (int64_t o = 0; o < kOut; ++o) {
          int64_t sum = 0;
          for (int64_t k = 0; k < kIn; ++k)
            sum += weight.value(o, k) * std::lrint(static_cast<float>(x.at(r, k)) * (127.0F / largest));
          const double exact = static_cast<double>(sum) * largest / 127;
          ASSERT_NEAR(y[static_cast<size_t>(r * kOut + o)], exact, 4e-7 * std::abs(exact))
              << "format " << static_cast<int>(format) << ", " << rows << " rows, row " << r << ", output " << o;
        }
      }
      if (format == WeightFormat::kInt8) {
        ASSERT_EQ(y, run(linear, x.rows(), rows, plain())) << rows << " rows";
      }
    }
  }
}

// Scales of 1 leave whole numbers, which are exact.
TEST_P(IntegersOnIsa, TheLargestIntegersOverflowNothing) {
  constexpr int64_t kIn = 512;
  std::vector<float> x(3 * kIn, 127.0F);
  for (size_t k = 0; k < kIn; ++k) {
    x[kIn + k] = -127.0F;
    x[2 * kIn + k] = k % 2 == 0 ? 127.0F : -127.0F;
  }
  const ConstRows rows{x.data(), DType::kF32, kIn};
  Integers bytes(WeightFormat::kInt8, 3, kIn, 1.0F, [](int64_t o, int64_t k) {
    return o == 0 ? -128 : o == 1 ? 127 : k % 2 == 0 ? 127 : -128;
  });
  const float low = -128.0F * 127 * 512, high = 127.0F * 127 * 512, mixed = -127.0F * 256;
  EXPECT_EQ(run(bytes.linear(0, kIn, pool_), rows, 3, context()),
            (std::vector<float>{low, high, mixed, -low, -high, -mixed, 0, 0, 127.0F * 255 * 256}));
  Integers nibbles(WeightFormat::kInt4Group32, 2, kIn, 1.0F, [](int64_t o, int64_t) { return o == 0 ? 0 : 15; });
  EXPECT_EQ(run(nibbles.linear(0, kIn, pool_), rows, 3, context()),
            (std::vector<float>{-8.0F * 127 * 512, 7.0F * 127 * 512, 8.0F * 127 * 512, -7.0F * 127 * 512, 0, 0}));
  nibbles.zeros.assign(2 * kIn / 32, 16);
  EXPECT_EQ(run(nibbles.linear(0, kIn, pool_), rows, 3, context()),
            (std::vector<float>{-16.0F * 127 * 512, -127.0F * 512, 16.0F * 127 * 512, 127.0F * 512, 0, 0}));
}

TEST_P(IntegersOnIsa, PartsOfRowsTakeTheLargestOfWholeOnes) {
  constexpr int64_t kOut = 20, kIn = 256;
  std::vector<float> x(2 * kIn);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(static_cast<int>(i * 37 % 101) - 50);
  x[3] = 127.0F;
  x[kIn + 200] = -127.0F;
  const std::vector<float> largest = {127.0F, 127.0F};
  for (WeightFormat format : {WeightFormat::kInt8, WeightFormat::kInt4Group32}) {
    Integers weight(format, kOut, kIn, 1.0F, [&](int64_t o, int64_t k) { return code_of(format, o, k); });
    const auto part = [&](int64_t begin, int64_t count) {
      return run(weight.linear(begin, count, pool_), {x.data() + begin, DType::kF32, kIn}, 2, context(), largest.data());
    };
    const std::vector<float> whole = run(weight.linear(0, kIn, pool_), {x.data(), DType::kF32, kIn}, 2, context());
    const std::vector<float> left = part(0, 96), right = part(96, 160);
    for (size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(left[i] + right[i], whole[i]) << i;
  }
}

TEST_P(IntegersOnIsa, ARowThatIsNotFiniteGivesNothingElse) {
  constexpr int64_t kIn = 64;
  Integers weight(WeightFormat::kInt8, 5, kIn, 0.5F, [](int64_t o, int64_t k) { return static_cast<int>(o + k); });
  const PackedLinear linear = weight.linear(0, kIn, pool_);
  std::vector<float> x(4 * kIn, 0.0F);
  x[5] = NAN;
  x[kIn + 6] = -INFINITY;
  x[2 * kIn] = 1.0F;
  const std::vector<float> y = run(linear, {x.data(), DType::kF32, kIn}, 4, context());
  for (size_t o = 0; o < 5; ++o) {
    EXPECT_TRUE(std::isnan(y[o]));
    EXPECT_TRUE(std::isnan(y[5 + o]));
    EXPECT_FLOAT_EQ(y[10 + o], 0.5F * static_cast<float>(o));
    EXPECT_EQ(y[15 + o], 0.0F);
  }
}

TEST(IntegerRows, LargestOfRowsKeepsWhatIsNotFinite) {
  ThreadPool pool(1);
  const std::vector<float> x = {1, -3, 2, 0, NAN, 1, INFINITY, 1, 0};
  std::vector<float> largest(3);
  largest_of_rows({x.data(), DType::kF32, 3}, 3, 3, largest.data(), pool);
  EXPECT_EQ(largest[0], 3.0F);
  EXPECT_TRUE(std::isnan(largest[1]));
  EXPECT_EQ(largest[2], INFINITY);
  EXPECT_EQ(larger_of(2.0F, 3.0F), 3.0F);
  EXPECT_TRUE(std::isnan(larger_of(INFINITY, NAN)));
}

}  // namespace
}  // namespace tp::cpu
