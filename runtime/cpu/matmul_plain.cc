#include "runtime/cpu/half_float.h"
#include "runtime/cpu/matmul_tile.h"

namespace tp::cpu {
namespace {

// Sixteen lanes in portable C++; compilers turn the loops into whatever vectors the target has.
struct Plain {
  struct F {
    float lane[16];
  };
  static constexpr int kLanes = 16;
  static constexpr int kMaxRows = 4, kMaxNarrowRows = 4, kMaxRowsOfTwoPanels = 0;

  template <class Lane>
  static F each(Lane&& lane) {
    F out;
    for (int i = 0; i < kLanes; ++i) out.lane[i] = lane(i);
    return out;
  }
  static F zero() {
    return each([](int) { return 0.0F; });
  }
  static F load(const float* p) {
    return each([&](int i) { return p[i]; });
  }
  static F broadcast(const float* p) {
    return each([&](int) { return *p; });
  }
  static F add(const F& a, const F& b) {
    return each([&](int i) { return a.lane[i] + b.lane[i]; });
  }
  static F mul(const F& a, const F& b) {
    return each([&](int i) { return a.lane[i] * b.lane[i]; });
  }
  static F fma(const F& a, const F& b, const F& c) {
    return each([&](int i) { return a.lane[i] * b.lane[i] + c.lane[i]; });
  }
  static F load_low_bf16(const uint32_t* p) {
    return each([&](int i) { return std::bit_cast<float>(p[i] << 16); });
  }
  static F load_high_bf16(const uint32_t* p) {
    return each([&](int i) { return std::bit_cast<float>(p[i] & 0xffff0000U); });
  }
  static F load_bf16(const uint16_t* p) {
    return each([&](int i) { return bf16_to_float(p[i]); });
  }
  static F load_f16(const uint16_t* p) {
    return each([&](int i) { return f16_to_float(p[i]); });
  }
  template <int S>
  static F load_int8(const uint32_t* p) {
    return each([&](int i) { return static_cast<float>(static_cast<int32_t>(p[i] << (24 - 8 * S)) >> 24); });
  }
  template <int S>
  static F load_nibble(const uint32_t* p) {
    return each([&](int i) { return static_cast<float>(S == 7 ? p[i] >> 28 : p[i] & (0xfU << (4 * S))); });
  }
  static void store(float* p, const F& a) {
    for (int i = 0; i < kLanes; ++i) p[i] = a.lane[i];
  }
  static void store_bf16(uint16_t* p, const F& a) {
    for (int i = 0; i < kLanes; ++i) p[i] = float_to_bf16(a.lane[i]);
  }
  static void store_f16(uint16_t* p, const F& a) {
    for (int i = 0; i < kLanes; ++i) p[i] = float_to_f16(a.lane[i]);
  }
};

}  // namespace

const MatmulPath* matmul_path_plain() {
  static constexpr MatmulPath kPath = path_of<Plain>(Isa::kPlain);
  return &kPath;
}

}  // namespace tp::cpu
