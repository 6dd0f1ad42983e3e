#include "runtime/cpu/row_ops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/cpu/random_rows.h"

namespace tp::cpu {
namespace {

constexpr DType kDTypes[] = {DType::kF32, DType::kBF16, DType::kF16};

// Runs `op` with every instruction set that is here and compares its result with `exact`: within a few float32 roundings, and
// then one rounding to the dtype of the result. Elements between the rows must stay untouched.
void expect_rows(int64_t rows, int64_t features, const std::function<void(Rows out, const Context&)>& op,
                 const std::function<double(int64_t row, int64_t i)>& exact) {
  ThreadPool pool(2);
  for (Isa isa : available_isas()) {
    for (DType dtype : kDTypes) {
      const int64_t stride = features + 3;
      const size_t bytes = static_cast<size_t>(rows * stride) * (dtype == DType::kF32 ? 4 : 2);
      std::vector<std::byte> memory(bytes, std::byte{0x2a});
      const Rows out{memory.data(), dtype, stride};
      op(out, {pool, KernelChoice::only(isa)});
      const double ulp = dtype == DType::kF32 ? 2e-6 : dtype == DType::kBF16 ? 0x1p-8 : 0x1p-11;
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t i = 0; i < features; ++i) {
          float value = 0;
          std::memcpy(&value, static_cast<const std::byte*>(out.row(r)) + i * (dtype == DType::kF32 ? 4 : 2),
                      dtype == DType::kF32 ? 4 : 2);
          if (dtype != DType::kF32) {
            uint16_t half = 0;
            std::memcpy(&half, static_cast<const std::byte*>(out.row(r)) + i * 2, 2);
            value = dtype == DType::kBF16 ? bfloat16_to_float(half) : float16_to_float(half);
          }
          ASSERT_NEAR(value, exact(r, i), 3e-6 + ulp * std::abs(exact(r, i)))
              << isa_name(isa) << " row " << r << " feature " << i;
        }
        const std::byte* after = static_cast<const std::byte*>(out.row(r)) + features * (dtype == DType::kF32 ? 4 : 2);
        ASSERT_EQ(*after, std::byte{0x2a}) << isa_name(isa) << " row " << r;
      }
    }
  }
}

TEST(RowOps, NormKinds) {
  for (int64_t size : {64, 37, 8, 200}) {
    const RandomRows x(5, size * 2, DType::kBF16, 1, 3.0F), w(1, size * 2, DType::kF32, 2), b(1, size * 2, DType::kF32, 3);
    const float *weight = reinterpret_cast<const float*>(w.bytes.data()),
                *bias = reinterpret_cast<const float*>(b.bytes.data());
    for (NormKind kind : {NormKind::kRms, NormKind::kRmsOnePlus, NormKind::kLayerNorm, NormKind::kLayerNormOnePlus}) {
      const bool centred = kind == NormKind::kLayerNorm || kind == NormKind::kLayerNormOnePlus;
      const bool one_plus = kind == NormKind::kRmsOnePlus || kind == NormKind::kLayerNormOnePlus;
      for (bool per_feature : {false, true}) {
        const auto exact = [&](int64_t row, int64_t i) {
          const int64_t begin = i / size * size;
          double mean = 0, squares = 0;
          for (int64_t k = begin; k < begin + size && centred; ++k) mean += x.at(row, k) / static_cast<double>(size);
          for (int64_t k = begin; k < begin + size; ++k)
            squares += std::pow(x.at(row, k) - mean, 2) / static_cast<double>(size);
          const int64_t at = per_feature ? i : i - begin;
          const double scale = w.at(0, at) + (one_plus ? 1 : 0);
          return (x.at(row, i) - mean) / std::sqrt(squares + 1e-5) * scale + (centred ? b.at(0, at) : 0);
        };
        expect_rows(
            5, size * 2,
            [&](Rows out, const Context& context) {
              norm_rows(x.rows(), 5, size * 2, size, kind, 1e-5F, {weight, centred ? bias : nullptr, per_feature}, out,
                        context);
            },
            exact);
      }
    }
  }
}

TEST(RowOps, AddAndNormRoundsTheSumFirst) {
  const RandomRows x(3, 50, DType::kBF16, 4), delta(3, 50, DType::kF32, 5, 0.01F);
  ThreadPool pool(1);
  for (Isa isa : available_isas()) {
    const Context context{pool, KernelChoice::only(isa)};
    std::vector<uint16_t> sum(150), fused(150), alone(150);
    add_and_norm_rows(x.rows(), delta.rows(), 3, 50, NormKind::kRms, 1e-6F, {}, {sum.data(), DType::kBF16, 50},
                      {fused.data(), DType::kBF16, 50}, context);
    for (int64_t i = 0; i < 150; ++i) {
      EXPECT_EQ(sum[static_cast<size_t>(i)],
                float_to_bfloat16(static_cast<float>(x.at(i / 50, i % 50)) + static_cast<float>(delta.at(i / 50, i % 50))));
    }
    norm_rows({sum.data(), DType::kBF16, 50}, 3, 50, 50, NormKind::kRms, 1e-6F, {}, {alone.data(), DType::kBF16, 50}, context);
    EXPECT_EQ(fused, alone);
  }
}

TEST(RowOps, RopeOfBothLayouts) {
  for (auto [head_dim, rotary] : {std::pair<int64_t, int64_t>{16, 16}, {128, 128}, {20, 12}, {80, 32}, {6, 2}}) {
    const int64_t half = rotary / 2;
    const RandomRows x(4, 3 * head_dim, DType::kBF16, 6), angle(4, half, DType::kF32, 7);
    std::vector<float> cos, sin;
    for (double a : angle.values) {
      cos.push_back(static_cast<float>(std::cos(a)));
      sin.push_back(static_cast<float>(std::sin(a)));
    }
    for (RopeLayout layout : {RopeLayout::kHalf, RopeLayout::kInterleaved}) {
      expect_rows(
          4, 3 * head_dim,
          [&](Rows out, const Context& context) {
            rope_rows(x.rows(), 4, 3, head_dim, rotary, layout, cos.data(), sin.data(), out, context);
          },
          [&](int64_t row, int64_t i) {
            const int64_t head = i / head_dim * head_dim, k = i % head_dim;
            if (k >= rotary) return x.at(row, i);
            const bool halves = layout == RopeLayout::kHalf;
            const int64_t pair = halves ? k % half : k / 2;
            const bool second = halves ? k >= half : k % 2 == 1;
            const int64_t a = head + (halves ? pair : 2 * pair), b = head + (halves ? pair + half : 2 * pair + 1);
            const double c = cos[static_cast<size_t>(row * half + pair)], s = sin[static_cast<size_t>(row * half + pair)];
            return second ? x.at(row, b) * c + x.at(row, a) * s : x.at(row, a) * c - x.at(row, b) * s;
          });
    }
  }
}

TEST(RowOps, RopeInPlace) {
  RandomRows x(2, 32, DType::kBF16, 8);
  const std::vector<float> cos(16, 0.6F), sin(16, 0.8F);
  ThreadPool pool(1);
  for (Isa isa : available_isas()) {
    for (RopeLayout layout : {RopeLayout::kHalf, RopeLayout::kInterleaved}) {
      const Context context{pool, KernelChoice::only(isa)};
      std::vector<std::byte> copy = x.bytes, out(x.bytes.size());
      rope_rows(x.rows(), 2, 2, 16, 16, layout, cos.data(), sin.data(), {out.data(), DType::kBF16, 32}, context);
      rope_rows({copy.data(), DType::kBF16, 32}, 2, 2, 16, 16, layout, cos.data(), sin.data(), {copy.data(), DType::kBF16, 32},
                context);
      EXPECT_EQ(copy, out);
    }
  }
}

double exact_activation(Activation activation, double x) {
  switch (activation) {
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
    case Activation::kGelu:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::kGeluTanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::kRelu:
      return std::max(0.0, x);
    case Activation::kRelu2:
      return std::max(0.0, x) * std::max(0.0, x);
    case Activation::kQuickGelu:
      return x / (1 + std::exp(-1.702 * x));
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-x));
  }
  return 0;
}

TEST(RowOps, ActivationsGatedAndNot) {
  const RandomRows a(3, 300, DType::kF32, 9, 3.0F), b(3, 300, DType::kBF16, 10);
  for (Activation activation : {Activation::kSilu, Activation::kGelu, Activation::kGeluTanh, Activation::kRelu,
                                Activation::kRelu2, Activation::kQuickGelu, Activation::kSigmoid}) {
    for (bool gated : {false, true}) {
      expect_rows(
          3, 300,
          [&](Rows out, const Context& context) {
            activation_rows(a.rows(), gated ? b.rows() : ConstRows{}, 3, 300, activation, out, context);
          },
          [&](int64_t row, int64_t i) { return exact_activation(activation, a.at(row, i)) * (gated ? b.at(row, i) : 1); });
    }
  }
}

TEST(RowOps, ActivationsOfExtremes) {
  ThreadPool pool(1);
  const std::vector<float> x = {0, -0.0F, 1e-30F, 50, -50, 200, -200, 1e30F, -1e30F, NAN};
  for (Isa isa : available_isas()) {
    for (Activation activation :
         {Activation::kSilu, Activation::kGelu, Activation::kGeluTanh, Activation::kQuickGelu, Activation::kRelu}) {
      std::vector<float> y(x.size());
      const int64_t count = static_cast<int64_t>(x.size());
      activation_rows({x.data(), DType::kF32, count}, {}, 1, count, activation, {y.data(), DType::kF32, count},
                      {pool, KernelChoice::only(isa)});
      for (size_t i = 0; i + 1 < x.size(); ++i) {
        const double exact = x[i] < -100 ? 0 : exact_activation(activation, x[i]);
        EXPECT_NEAR(y[i], exact, 1e-6 * (1 + std::abs(exact))) << isa_name(isa) << " of " << x[i];
      }
      EXPECT_TRUE(std::isnan(y.back())) << isa_name(isa);
    }
  }
}

TEST(RowOps, AddAndConvert) {
  const RandomRows a(2, 45, DType::kF16, 11), b(2, 45, DType::kBF16, 12);
  expect_rows(
      2, 45, [&](Rows out, const Context& context) { add_rows(a.rows(), b.rows(), 2, 45, out, context); },
      [&](int64_t row, int64_t i) { return a.at(row, i) + b.at(row, i); });
  expect_rows(
      2, 45, [&](Rows out, const Context& context) { convert_rows(a.rows(), 2, 45, out, context); },
      [&](int64_t row, int64_t i) { return a.at(row, i); });
}

}  // namespace
}  // namespace tp::cpu
