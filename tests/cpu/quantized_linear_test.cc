#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "runtime/cpu/matmul_path.h"
#include "runtime/cpu/packed_linear.h"
#include "runtime/cpu/quantize.h"
#include "sharding/error.h"
#include "tests/cpu/random_rows.h"

namespace tp::cpu {
namespace {

constexpr WeightFormat kFormats[] = {WeightFormat::kInt8, WeightFormat::kInt4Group32, WeightFormat::kInt4Group128};

// A weight quantized row by row, and what it stands for.
struct Quantized {
  std::vector<std::byte> q;
  std::vector<uint16_t> scales;
  std::vector<double> values;  // [out, in]
  WeightFormat format;
  int64_t out, in;

  Quantized(const RandomRows& w, int64_t out_, WeightFormat format_) : format(format_), out(out_), in(w.columns) {
    const int64_t row_bytes = quantized_row_bytes(format, in), row_scales = scales_per_row(format, in);
    q.resize(static_cast<size_t>(out * row_bytes));
    scales.resize(static_cast<size_t>(out * row_scales));
    for (int64_t r = 0; r < out; ++r) {
      if (format == WeightFormat::kInt8) scales[static_cast<size_t>(r)] = int8_scale(w.rows(), r, in);
      EXPECT_TRUE(quantize_row(w.rows(), r, in, format, scales.data() + r * row_scales, q.data() + r * row_bytes));
      for (int64_t i = 0; i < in; ++i) {
        const int64_t group = format == WeightFormat::kInt8 ? 0 : i / group_size(format);
        const double scale = bfloat16_to_float(scales[static_cast<size_t>(r * row_scales + group)]);
        values.push_back(scale * integer(r, i));
      }
    }
  }
  int integer(int64_t r, int64_t i) const {
    if (format == WeightFormat::kInt8) return static_cast<int8_t>(q[static_cast<size_t>(r * in + i)]);
    const int byte = static_cast<int>(q[static_cast<size_t>((r * in + i) / 2)]);
    return (i % 2 == 0 ? byte & 15 : byte >> 4) - 8;
  }
  // Rows from `row` on, inputs from `column` on.
  QuantizedBlock block(int64_t row, int64_t rows, int64_t column, int64_t columns) const {
    const int64_t row_bytes = quantized_row_bytes(format, in), row_scales = scales_per_row(format, in);
    const int64_t group = format == WeightFormat::kInt8 ? 0 : column / group_size(format);
    return {q.data() + row * row_bytes + column * bits(format) / 8,
            scales.data() + row * row_scales + group,
            row_bytes,
            row_scales,
            rows,
            columns};
  }
};

std::vector<float> run(const PackedLinear& linear, const RandomRows& x, int64_t rows, const Context& context,
                       int64_t column = 0) {
  std::vector<float> y(static_cast<size_t>(rows * linear.out()), NAN);
  linear.run(x.from(0, column), rows, {y.data(), DType::kF32, linear.out()}, context);
  return y;
}

class QuantizedOnIsa : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (!isa_available(GetParam()) || matmul_path(GetParam()) == nullptr)
      GTEST_SKIP() << "no " << isa_name(GetParam()) << " here";
  }
  ThreadPool pool_{2};
  Context context() { return {pool_, KernelChoice::only(GetParam())}; }
};

INSTANTIATE_TEST_SUITE_P(QuantizedLinear, QuantizedOnIsa, testing::Values(Isa::kPlain, Isa::kAvx2, Isa::kAvx512),
                         [](const auto& param) { return std::string(isa_name(param.param)); });

TEST_P(QuantizedOnIsa, AgreesWithWhatTheIntegersStandFor) {
  const int64_t out = 50, in = 384;
  const RandomRows w(out, in, DType::kBF16, 1), x(40, in, DType::kBF16, 2);
  for (WeightFormat format : kFormats) {
    const Quantized quantized(w, out, format);
    const PackedLinear linear(out, in, format, {quantized.block(0, out, 0, in)}, pool_);
    for (int64_t rows : {1, 2, 3, 4, 7, 12, 16, 17, 40}) {
      const std::vector<float> y = run(linear, x, rows, context());
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t o = 0; o < out; ++o) {
          double sum = 0, size = 0;
          for (int64_t k = 0; k < in; ++k) {
            const double term = x.at(r, k) * quantized.values[static_cast<size_t>(o * in + k)];
            sum += term;
            size += std::abs(term);
          }
          ASSERT_NEAR(y[static_cast<size_t>(r * out + o)], sum, 1e-6 * size)
              << "format " << static_cast<int>(format) << ", " << rows << " rows";
        }
      }
    }
  }
}

TEST_P(QuantizedOnIsa, QuantizesWhilePacking) {
  const int64_t out = 35, in = 256;
  const RandomRows w(out, in, DType::kBF16, 3), x(3, in, DType::kF32, 4);
  for (WeightFormat format : kFormats) {
    const Quantized quantized(w, out, format);
    const PackedLinear stored(out, in, format, {quantized.block(0, out, 0, in)}, pool_);
    const PackedLinear loaded = PackedLinear::quantized(out, in, format, {{w.rows(), out, in}}, quantized.scales, pool_);
    EXPECT_EQ(run(loaded, x, 3, context()), run(stored, x, 3, context()));
  }
}

TEST_P(QuantizedOnIsa, ACutChangesNothing) {
  const int64_t out = 64, in = 512;
  const RandomRows w(out, in, DType::kBF16, 5), x(2, in, DType::kBF16, 6);
  for (WeightFormat format : kFormats) {
    const Quantized quantized(w, out, format);
    const std::vector<float> whole = run({out, in, format, {quantized.block(0, out, 0, in)}, pool_}, x, 2, context());
    const std::vector<float> lower = run({24, in, format, {quantized.block(40, 24, 0, in)}, pool_}, x, 2, context());
    for (size_t o = 0; o < 24; ++o) EXPECT_EQ(lower[24 + o], whole[64 + 40 + o]);
    const std::vector<float> left = run({out, 256, format, {quantized.block(0, out, 0, 256)}, pool_}, x, 2, context());
    const std::vector<float> right = run({out, 256, format, {quantized.block(0, out, 256, 256)}, pool_}, x, 2, context(), 256);
    for (size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(left[i] + right[i], whole[i], 1e-4);
  }
}

TEST(QuantizedLinear, PadsInputsAndOutputs) {
  ThreadPool pool(1);
  const RandomRows w(3, 64, DType::kBF16, 7), x(1, 80, DType::kF32, 8);
  for (Isa isa : available_isas()) {
    if (isa > Isa::kAvx512) continue;
    const Quantized quantized(w, 3, WeightFormat::kInt4Group32);
    const PackedLinear linear(20, 80, WeightFormat::kInt4Group32, {quantized.block(0, 3, 0, 64)}, pool);
    const std::vector<float> y = run(linear, x, 1, {pool, KernelChoice::only(isa)});
    for (size_t o = 3; o < 20; ++o) EXPECT_EQ(y[o], 0.0F);
    for (size_t o = 0; o < 3; ++o) {
      double sum = 0;
      for (int64_t k = 0; k < 64; ++k) sum += x.at(0, k) * quantized.values[o * 64 + static_cast<size_t>(k)];
      EXPECT_NEAR(y[o], sum, 1e-4);
    }
  }
}

TEST_P(QuantizedOnIsa, ARowMayEndWithinAGroup) {
  const int64_t out = 20, in = 168;
  const RandomRows w(out, in, DType::kBF16, 10), x(9, in, DType::kF32, 11);
  for (WeightFormat format : {WeightFormat::kInt4Group32, WeightFormat::kInt4Group128}) {
    const Quantized quantized(w, out, format);
    const PackedLinear linear = PackedLinear::quantized(out, in, format, {{w.rows(), out, in}}, {}, pool_);
    const std::vector<float> y = run(linear, x, 9, context());
    for (int64_t r = 0; r < 9; ++r) {
      for (int64_t o = 0; o < out; ++o) {
        double sum = 0;
        for (int64_t k = 0; k < in; ++k) sum += x.at(r, k) * quantized.values[static_cast<size_t>(o * in + k)];
        ASSERT_NEAR(y[static_cast<size_t>(r * out + o)], sum, 1e-4);
      }
    }
  }
}

TEST_P(QuantizedOnIsa, ZeroPointsAndFloat16ScalesAreThoseOfTheGroup) {
  const int64_t out = 18, in = 64;
  std::vector<uint8_t> q(static_cast<size_t>(out * in / 2)), zeros(static_cast<size_t>(out * 2));
  std::vector<uint16_t> scales(zeros.size());
  for (size_t i = 0; i < q.size(); ++i) q[i] = static_cast<uint8_t>(i * 37 + 11);
  for (size_t i = 0; i < zeros.size(); ++i) zeros[i] = static_cast<uint8_t>(i % 17);
  for (size_t i = 0; i < scales.size(); ++i) scales[i] = float_to_float16(0.25F + 0.0625F * static_cast<float>(i % 5));
  const QuantizedBlock block{q.data(), scales.data(), in / 2, 2, out, in, 0, 0, zeros.data()};
  const PackedLinear linear(out, in, WeightFormat::kInt4Group32, {block}, pool_, {DType::kF16, true});
  const RandomRows x(20, in, DType::kF32, 12);
  for (int64_t rows : {1, 20}) {
    const std::vector<float> y = run(linear, x, rows, context());
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t o = 0; o < out; ++o) {
        double sum = 0;
        for (int64_t k = 0; k < in; ++k) {
          const auto at = static_cast<size_t>(o * 2 + k / 32);
          const int code = (q[static_cast<size_t>((o * in + k) / 2)] >> (k % 2 * 4)) & 15;
          sum += x.at(r, k) * (code - zeros[at]) * float16_to_float(scales[at]);
        }
        ASSERT_NEAR(y[static_cast<size_t>(r * out + o)], sum, 1e-3) << rows << " rows";
      }
    }
  }
}

TEST(Quantize, ErrorIsThatOfItsFormat) {
  const RandomRows w(64, 1024, DType::kBF16, 9);
  const double limits[] = {0.012, 0.090, 0.112};  // of normal numbers, root mean square
  for (size_t f = 0; f < 3; ++f) {
    const Quantized quantized(w, 64, kFormats[f]);
    double error = 0;
    for (size_t i = 0; i < w.values.size(); ++i) error += std::pow(quantized.values[i] - w.values[i], 2);
    EXPECT_LT(std::sqrt(error / static_cast<double>(w.values.size())), limits[f]) << static_cast<int>(kFormats[f]);
  }
}

TEST(Quantize, KeepsZerosAndRefusesWhatIsNotFinite) {
  ThreadPool pool(1);
  for (WeightFormat format : kFormats) {
    std::vector<float> w(128, 0.0F);
    std::vector<uint16_t> scales(4);
    std::vector<std::byte> q(128);
    scales[0] = int8_scale({w.data(), DType::kF32, 128}, 0, 128);
    EXPECT_TRUE(quantize_row({w.data(), DType::kF32, 128}, 0, 128, format, scales.data(), q.data()));
    EXPECT_EQ(scales[0], 0);
    EXPECT_EQ(q[5], format == WeightFormat::kInt8 ? std::byte{0} : std::byte{0x88});
    for (float bad : {NAN, INFINITY}) {
      w[77] = bad;
      scales[0] = int8_scale({w.data(), DType::kF32, 128}, 0, 128);
      EXPECT_FALSE(quantize_row({w.data(), DType::kF32, 128}, 0, 128, format, scales.data(), q.data()));
      EXPECT_THROW(PackedLinear::quantized(1, 128, format, {{{w.data(), DType::kF32, 128}, 1, 128}}, scales, pool), Error);
    }
  }
}

}  // namespace
}  // namespace tp::cpu
