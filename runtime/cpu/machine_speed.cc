#include "runtime/cpu/machine_speed.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "runtime/cpu/buffer.h"
#include "runtime/cpu/packed_linear.h"

namespace tp::cpu {
namespace {

constexpr int64_t kChunk = int64_t{1} << 18;
// Chunks that are timed together: a millisecond or so, to find moments when nobody else disturbs.
constexpr int64_t kPiece = 64;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Eight independent sums, so that the loop waits for memory alone.
uint64_t read_chunk(const std::byte* data) {
  uint64_t sums[8] = {};
  const uint64_t* words = reinterpret_cast<const uint64_t*>(data);
  for (int64_t i = 0; i < kChunk / 8; i += 8) {
    __builtin_prefetch(words + i + 192);
    for (int64_t lane = 0; lane < 8; ++lane) sums[lane] += words[i + lane];
  }
  uint64_t sum = 0;
  for (uint64_t lane : sums) sum += lane;
  return sum;
}

}  // namespace

double read_bandwidth(int64_t size_bytes, int passes, ThreadPool& pool, const TimedTogether& together) {
  const int64_t chunks = std::max<int64_t>(1, size_bytes / (kPiece * kChunk)) * kPiece;
  Buffer buffer(chunks * kChunk);
  std::memset(buffer.data(), 1, static_cast<size_t>(chunks * kChunk));
  std::atomic<uint64_t> sum = 0;
  double best = 0;
  for (int pass = 0; pass < passes; ++pass) {
    for (int64_t first = 0; first + kPiece <= chunks; first += kPiece) {
      together.start();
      const auto begin = std::chrono::steady_clock::now();
      pool.parallel_for(kPiece, [&](int64_t chunk) { sum.fetch_add(read_chunk(buffer.data() + (first + chunk) * kChunk)); });
      best = std::max(best, static_cast<double>(kPiece * kChunk) / together.slowest(seconds_since(begin)));
    }
  }
  return sum.load() == 0 ? 0 : best;
}

double multiply_add_peak(const Context& context, const TimedTogether& together) {
  // One tile over and over: its weights and rows stay in the first cache.
  const MatmulPath& path = *matmul_path(context.kernels.vector);
  constexpr int64_t kIn = 128;
  constexpr int kCalls = 500;
  const TileFn tile = path.tile(WeightFormat::kF32, path.max_rows, 1);
  double best = 1e9;
  for (int repeat = 0; repeat < 20; ++repeat) {
    together.start();
    const auto begin = std::chrono::steady_clock::now();
    context.pool.parallel_for(context.pool.threads(), [&](int64_t) {
      alignas(64) float weights[kIn * kPanel] = {}, x[kIn * 16] = {}, y[16 * kPanel] = {};
      TileArgs args;
      args.weights = reinterpret_cast<const std::byte*>(weights);
      args.x = x;
      args.in = kIn;
      args.y = y;
      args.y_stride = kPanel;
      for (int call = 0; call < kCalls; ++call) tile(args);
    });
    best = std::min(best, together.slowest(seconds_since(begin)));
  }
  return 2.0 * kCalls * static_cast<double>(kIn * kPanel * path.max_rows * context.pool.threads()) / best;
}

}  // namespace tp::cpu
