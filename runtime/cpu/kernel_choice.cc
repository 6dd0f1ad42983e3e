#include "runtime/cpu/kernel_choice.h"

#include <algorithm>
#include <chrono>

#include "runtime/cpu/matmul_path.h"
#include "runtime/cpu/packed_linear.h"

namespace tp::cpu {
namespace {

// How much faster a path that rounds otherwise must be.
constexpr double kClearlyFaster = 1.15;

bool sums_pairs(Isa isa) {
  return isa == Isa::kAvx512Bf16 || isa == Isa::kAmx;
}

// Seconds that one product takes, the best of a few.
double best_seconds(const PackedLinear& linear, int64_t rows, const Context& context) {
  const std::vector<uint16_t> x(static_cast<size_t>(rows * linear.in()), 0x3f80);
  std::vector<float> y(static_cast<size_t>(rows * linear.out()));
  double best = 1e9;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const auto begin = std::chrono::steady_clock::now();
    linear.run({x.data(), DType::kBF16, linear.in()}, rows, {y.data(), DType::kF32, linear.out()}, context);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

Isa fastest(const std::vector<Isa>& candidates, int64_t rows, const PackedLinear& linear, ThreadPool& pool) {
  Isa best = candidates.front();
  double seconds = best_seconds(linear, rows, {pool, KernelChoice::only(best)});
  for (size_t i = 1; i < candidates.size(); ++i) {
    const double other = best_seconds(linear, rows, {pool, KernelChoice::only(candidates[i])});
    if (other * kClearlyFaster < seconds) {
      best = candidates[i];
      seconds = other;
    }
  }
  return best;
}

}  // namespace

KernelChoice choose_kernels(const std::vector<Isa>& allowed, ThreadPool& pool) {
  KernelChoice choice;
  std::vector<Isa> pairs;
  for (Isa isa : allowed) {
    // All of them compute the same integers; the later ones in fewer steps.
    if (integer_path(isa) != nullptr) choice.integers = isa;
    if (matmul_path(isa) == nullptr) continue;
    if (sums_pairs(isa)) {
      pairs.push_back(isa);
    } else {
      choice.vector = std::max(choice.vector, isa);
    }
  }
  choice.bf16_few = choice.bf16_many = choice.vector;
  if (pairs.empty()) return choice;
  pairs.insert(pairs.begin(), choice.vector);
  constexpr int64_t kOut = 512, kIn = 1024, kManyRows = 128, kSomeRows = 8;
  const std::vector<uint16_t> weight(kOut * kIn, 0x3f80);
  const PackedLinear linear(kOut, kIn, DType::kBF16, {{{weight.data(), DType::kBF16, kIn}, kOut, kIn}}, pool);
  choice.bf16_few = fastest(pairs, kSomeRows, linear, pool);
  choice.bf16_many = fastest(pairs, kManyRows, linear, pool);
  return choice;
}

}  // namespace tp::cpu
