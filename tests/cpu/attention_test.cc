#include "runtime/cpu/attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/cpu/random_rows.h"

namespace tp::cpu {
namespace {

struct Case {
  const char* name;
  int64_t heads, kv_heads, head_dim, value_dim;
  DType dtype;
  float softcap;
  int64_t window;
  bool sinks;
};

constexpr Case kCases[] = {
    {"grouped", 4, 2, 32, 32, DType::kBF16, 0, 0, false},    {"one_head_each", 2, 2, 64, 64, DType::kF32, 0, 0, false},
    {"one_kv_head", 5, 1, 40, 24, DType::kF16, 0, 0, false}, {"window_and_softcap", 4, 2, 36, 36, DType::kBF16, 20, 70, false},
    {"sinks", 6, 2, 16, 16, DType::kBF16, 0, 0, true},       {"sinks_and_short_window", 6, 3, 8, 20, DType::kF32, 0, 5, true},
    {"wide_group", 70, 1, 16, 16, DType::kF32, 0, 0, false},
};

// Two slots of which the call uses both, in the other order.
class Attention : public testing::TestWithParam<Case> {
 protected:
  static constexpr int64_t kSlots = 2, kCacheLen = 700;

  void fill(const std::vector<int32_t>& start, const std::vector<int32_t>& length, int64_t width) {
    const Case& c = GetParam();
    k_ = std::make_unique<RandomRows>(kSlots * c.kv_heads * kCacheLen, c.head_dim, c.dtype, 1);
    v_ = std::make_unique<RandomRows>(kSlots * c.kv_heads * kCacheLen, c.value_dim, c.dtype, 2);
    q_ = std::make_unique<RandomRows>(static_cast<int64_t>(start.size()) * width, c.heads * c.head_dim, DType::kBF16, 3, 2.0F);
    sinks_ = std::make_unique<RandomRows>(1, c.heads, DType::kF32, 4);
    start_ = start;
    length_ = length;
    width_ = width;
    slot_ = {1, 0};
  }

  AttentionBatch batch() const {
    return {static_cast<int64_t>(start_.size()), width_, start_.data(), length_.data(), slot_.data()};
  }
  LayerCache cache() const {
    const Case& c = GetParam();
    return {k_->bytes.data(), v_->bytes.data(), c.dtype, c.kv_heads, kCacheLen, c.head_dim, c.value_dim};
  }
  AttentionRule rule() const {
    const Case& c = GetParam();
    return {c.heads,  0.2F,  c.softcap,
            c.window, false, c.sinks ? reinterpret_cast<const float*>(sinks_->bytes.data()) : nullptr};
  }

  std::vector<float> run(const Context& context) const {
    const int64_t features = GetParam().heads * GetParam().value_dim;
    std::vector<float> out(static_cast<size_t>(batch().rows * width_ * features), NAN);
    attend(q_->rows(), batch(), cache(), rule(), {out.data(), DType::kF32, features}, context);
    return out;
  }

  std::vector<double> exact(int64_t row, int64_t t, int64_t head) const {
    const Case& c = GetParam();
    const int64_t kv_head = head / (c.heads / c.kv_heads), position = start_[static_cast<size_t>(row)] + t;
    const int64_t base = (slot_[static_cast<size_t>(row)] * c.kv_heads + kv_head) * kCacheLen;
    double sum = c.sinks ? std::exp(sinks_->at(0, head)) : 0;
    std::vector<double> out(static_cast<size_t>(c.value_dim));
    for (int64_t key = c.window > 0 ? std::max<int64_t>(0, position - c.window + 1) : 0; key <= position; ++key) {
      double score = 0;
      for (int64_t i = 0; i < c.head_dim; ++i) score += q_->at(row * width_ + t, head * c.head_dim + i) * k_->at(base + key, i);
      score *= 0.2F;
      if (c.softcap > 0) score = c.softcap * std::tanh(score / c.softcap);
      sum += std::exp(score);
      for (int64_t i = 0; i < c.value_dim; ++i) out[static_cast<size_t>(i)] += std::exp(score) * v_->at(base + key, i);
    }
    for (double& value : out) value /= sum;
    return out;
  }

  void expect_exact(const std::vector<float>& out) const {
    const Case& c = GetParam();
    for (int64_t row = 0; row < batch().rows; ++row) {
      for (int64_t t = 0; t < width_; ++t) {
        for (int64_t head = 0; head < c.heads; ++head) {
          const float* result = out.data() + ((row * width_ + t) * c.heads + head) * c.value_dim;
          const bool real = t < length_[static_cast<size_t>(row)];
          const std::vector<double> wanted = real ? exact(row, t, head) : std::vector<double>(static_cast<size_t>(c.value_dim));
          for (int64_t i = 0; i < c.value_dim; ++i) {
            ASSERT_NEAR(result[i], wanted[static_cast<size_t>(i)], 5e-6)
                << "row " << row << " position " << t << " head " << head;
          }
        }
      }
    }
  }

  static void widen(const std::vector<int8_t>& q, const std::vector<float>& scales, RandomRows& to) {
    for (size_t i = 0; i < q.size(); ++i) to.values[i] = q[i] * scales[i / static_cast<size_t>(to.columns)];
  }

  std::unique_ptr<RandomRows> k_, v_, q_, sinks_;
  std::vector<int32_t> start_, length_, slot_;
  int64_t width_ = 0;
  ThreadPool pool_{3};
};

INSTANTIATE_TEST_SUITE_P(Attention, Attention, testing::ValuesIn(kCases), [](const auto& param) { return param.param.name; });

TEST_P(Attention, OnePositionPerRow) {
  for (const auto& start : {std::vector<int32_t>{0, 3}, {255, 256}, {520, 40}}) {
    fill(start, {1, 1}, 1);
    for (Isa isa : available_isas()) expect_exact(run({pool_, KernelChoice::only(isa)}));
  }
}

TEST_P(Attention, ManyPositionsWithPadding) {
  for (const auto& start : {std::vector<int32_t>{0, 0}, {100, 61}}) {
    fill(start, {75, 20}, 80);
    for (Isa isa : available_isas()) expect_exact(run({pool_, KernelChoice::only(isa)}));
  }
}

TEST_P(Attention, SameBitsForAnyThreadsAndNeighbours) {
  for (int64_t width : {1, 40}) {
    fill({300, 17}, {static_cast<int32_t>(width), static_cast<int32_t>(width)}, width);
    const KernelChoice choice = KernelChoice::only(available_isas().back());
    const std::vector<float> out = run({pool_, choice});
    ThreadPool one(1);
    EXPECT_EQ(run({one, choice}), out);
    start_.pop_back();  // the first row alone
    const std::vector<float> alone = run({pool_, choice});
    EXPECT_EQ(alone, std::vector<float>(out.begin(), out.begin() + static_cast<int64_t>(alone.size())));
  }
}

TEST(AttentionCache, AppendsRealPositionsToTheirSlot) {
  ThreadPool pool(2);
  const Context context{pool, {}};
  const RandomRows k(2 * 3, 2 * 4, DType::kBF16, 5), v(2 * 3, 2 * 6, DType::kBF16, 6);
  std::vector<uint16_t> cache_k(2 * 2 * 10 * 4, 7), cache_v(2 * 2 * 10 * 6, 7);
  const std::vector<int32_t> start = {4, 0}, length = {3, 2}, slot = {1, 0};
  append_to_cache(k.rows(), v.rows(), {2, 3, start.data(), length.data(), slot.data()},
                  {cache_k.data(), cache_v.data(), DType::kBF16, 2, 10, 4, 6}, context);
  for (int64_t s = 0; s < 2; ++s) {
    const int64_t row = 1 - s;
    for (int64_t head = 0; head < 2; ++head) {
      for (int64_t position = 0; position < 10; ++position) {
        const int64_t t = position - start[static_cast<size_t>(row)];
        const bool real = t >= 0 && t < length[static_cast<size_t>(row)];
        const auto at = static_cast<size_t>((s * 2 + head) * 10 + position);
        EXPECT_EQ(bfloat16_to_float(cache_k[at * 4]),
                  real ? static_cast<float>(k.at(row * 3 + t, head * 4)) : bfloat16_to_float(7));
        EXPECT_EQ(bfloat16_to_float(cache_v[at * 6 + 5]),
                  real ? static_cast<float>(v.at(row * 3 + t, head * 6 + 5)) : bfloat16_to_float(7));
      }
    }
  }
}

// The same integers and scales, widened, in a cache of float32.
TEST_P(Attention, AQuantizedCacheIsReadAsWhatItsIntegersStandFor) {
  const Case& c = GetParam();
  const int64_t heads = kSlots * c.kv_heads * kCacheLen;
  for (int64_t width : {1, 40}) {
    for (Isa isa : available_isas()) {
      const Context context{pool_, KernelChoice::only(isa)};
      fill({300, 0}, {static_cast<int32_t>(width), static_cast<int32_t>(width)}, width);
      std::vector<int8_t> k(static_cast<size_t>(heads * c.head_dim)), v(static_cast<size_t>(heads * c.value_dim));
      std::vector<float> k_scales(static_cast<size_t>(heads)), v_scales(k_scales.size());
      const LayerCache cache{k.data(),   v.data(),    DType::kI8,      c.kv_heads,     kCacheLen,
                             c.head_dim, c.value_dim, k_scales.data(), v_scales.data()};
      // Both slots up to position 340, as rows of a call.
      const RandomRows new_k(2 * 340, c.kv_heads * c.head_dim, c.dtype, 5),
          new_v(2 * 340, c.kv_heads * c.value_dim, c.dtype, 6);
      const std::vector<int32_t> begin = {0, 0}, all = {340, 340};
      append_to_cache(new_k.rows(), new_v.rows(), {2, 340, begin.data(), all.data(), slot_.data()}, cache, context);
      k_ = std::make_unique<RandomRows>(heads, c.head_dim, DType::kF32, 1);
      v_ = std::make_unique<RandomRows>(heads, c.value_dim, DType::kF32, 2);
      widen(k, k_scales, *k_);
      widen(v, v_scales, *v_);
      for (int64_t i = 0; i < c.head_dim; ++i) {  // slot 1 is the first row's
        EXPECT_NEAR(k_->at((c.kv_heads + 0) * kCacheLen + 7, i), new_k.at(7, i),
                    0.6 * k_scales[static_cast<size_t>(c.kv_heads * kCacheLen + 7)]);
      }
      const int64_t features = c.heads * c.value_dim;
      std::vector<float> out(static_cast<size_t>(2 * width * features), NAN);
      attend(q_->rows(), batch(), cache, rule(), {out.data(), DType::kF32, features}, context);
      expect_exact(out);
    }
  }
}

}  // namespace
}  // namespace tp::cpu
