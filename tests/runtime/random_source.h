#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace tp {

// The same numbers for the same seed, whatever the standard library is (splitmix64).
class RandomSource {
 public:
  explicit RandomSource(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ULL + 0x1234567) {}

  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  int64_t below(int64_t count) { return static_cast<int64_t>(next() % static_cast<uint64_t>(count)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<int64_t>(values.size()))];
  }
  template <class T>
  const T& pick(const std::vector<T>& values) {
    return values[static_cast<size_t>(below(static_cast<int64_t>(values.size())))];
  }
  // Mean 0, deviation 1: the sum of twelve numbers of [0, 1) less 6, twenty bits each.
  float normal() {
    double sum = -6.0;
    for (int i = 0; i < 4; ++i) {
      const uint64_t bits = next();
      for (int shift = 0; shift < 60; shift += 20) sum += static_cast<double>((bits >> shift) & 0xfffff) / 1048576.0;
    }
    return static_cast<float>(sum);
  }

 private:
  uint64_t state_;
};

}  // namespace tp
