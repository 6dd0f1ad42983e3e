#pragma once

#include <bit>
#include <cstdint>

#include "runtime/float_convert.h"

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
    return each([&](int i) { return bfloat16_to_float(p[i]); });
  }
  static F load_f16(const uint16_t* p) {
    return each([&](int i) { return float16_to_float(p[i]); });
  }
  static F load_bytes(const int8_t* p) {
    return each([&](int i) { return static_cast<float>(p[i]); });
  }
  template <int S>
  static F load_int8(const uint32_t* p) {
    return each([&](int i) { return static_cast<float>(static_cast<int32_t>(p[i] << (24 - 8 * S)) >> 24); });
  }
  template <int S>
  static F load_nibble(const uint32_t* p) {
    return each([&](int i) { return static_cast<float>(S == 7 ? p[i] >> 28 : p[i] & (0xfU << (4 * S))); });
  }
  static F set(float value) {
    return each([&](int) { return value; });
  }
  static F sub(const F& a, const F& b) {
    return each([&](int i) { return a.lane[i] - b.lane[i]; });
  }
  static F div(const F& a, const F& b) {
    return each([&](int i) { return a.lane[i] / b.lane[i]; });
  }
  // Of a NaN and a number the second, as x86 has it.
  static F max(const F& a, const F& b) {
    return each([&](int i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
  }
  static F min(const F& a, const F& b) {
    return each([&](int i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; });
  }
  static F round(const F& a) {
    return each([&](int i) { return __builtin_rintf(a.lane[i]); });
  }
  static F power_of_two(const F& n) {
    return each([&](int i) { return std::bit_cast<float>((static_cast<int32_t>(n.lane[i]) + 127) << 23); });
  }
  static F select_less(const F& a, const F& b, const F& yes, const F& no) {
    return each([&](int i) { return a.lane[i] < b.lane[i] ? yes.lane[i] : no.lane[i]; });
  }
  static float sum(const F& a) {
    float total = 0;
    for (int i = 0; i < kLanes; ++i) total += a.lane[i];
    return total;
  }
  static float largest(const F& a) {
    float most = a.lane[0];
    for (int i = 1; i < kLanes; ++i) most = most > a.lane[i] ? most : a.lane[i];
    return most;
  }
  static void store(float* p, const F& a) {
    for (int i = 0; i < kLanes; ++i) p[i] = a.lane[i];
  }
  static void store_bf16(uint16_t* p, const F& a) {
    for (int i = 0; i < kLanes; ++i) p[i] = float_to_bfloat16(a.lane[i]);
  }
  static void store_f16(uint16_t* p, const F& a) {
    for (int i = 0; i < kLanes; ++i) p[i] = float_to_float16(a.lane[i]);
  }
};

}  // namespace
}  // namespace tp::cpu
