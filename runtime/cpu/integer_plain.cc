#include "runtime/cpu/integer_tile.h"
#include "runtime/cpu/vector_plain.h"

namespace tp::cpu {
namespace {

struct PlainIntegers {
  using Vector = Plain;
  struct V {
    uint32_t lane[16];
  };
  using Weights = V;
  static constexpr XLayout kLayout = XLayout::kInt8;
  static constexpr int kMaxRows = 4, kMaxRowsOfTwoPanels = 0;

  template <class Lane>
  static V each(Lane&& lane) {
    V out;
    for (int i = 0; i < Plain::kLanes; ++i) out.lane[i] = static_cast<uint32_t>(lane(i));
    return out;
  }
  static V zero() {
    return each([](int) { return 0U; });
  }
  static V load(const std::byte* p) {
    V out;
    __builtin_memcpy(&out, p, sizeof(out));
    return out;
  }
  static V broadcast(const std::byte* p) {
    uint32_t word = 0;
    __builtin_memcpy(&word, p, sizeof(word));
    return each([&](int) { return word; });
  }
  static const Weights& weights(const V& w) { return w; }
  static int32_t byte(uint32_t word, int index) { return static_cast<int8_t>(word >> (8 * index)); }
  static V dot(const V& sum, const V& w, const V& x) {
    return each([&](int i) {
      int32_t total = static_cast<int32_t>(sum.lane[i]);
      for (int b = 0; b < 4; ++b) total += byte(w.lane[i], b) * byte(x.lane[i], b);
      return total;
    });
  }
  static V low(const V& w) {
    return each([&](int i) { return w.lane[i] & 0x0f0f0f0fU; });
  }
  static V high(const V& w) {
    return each([&](int i) { return w.lane[i] >> 4 & 0x0f0f0f0fU; });
  }
  static V dot_nibbles(const V& sum, const V& q, const V& x) { return dot(sum, q, x); }
  static const V& total(const V& sum) { return sum; }
  static Plain::F to_float(const V& sum) {
    return Plain::each([&](int i) { return static_cast<float>(static_cast<int32_t>(sum.lane[i])); });
  }
};

}  // namespace

const MatmulPath* integer_path_plain() {
  static constexpr MatmulPath kPath = integer_path_of<PlainIntegers>(Isa::kPlain);
  return &kPath;
}

}  // namespace tp::cpu
