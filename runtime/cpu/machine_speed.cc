#include "runtime/cpu/machine_speed.h"

#include <algorithm>
#include <cstring>

#include "runtime/cpu/buffer.h"
#include "runtime/cpu/matmul_path.h"
#include "runtime/cpu/packed_linear.h"

namespace tp::cpu {
namespace {

constexpr int64_t kChunk = int64_t{1} << 18;
// Chunks that are timed together: a millisecond or so, to find moments when nobody else disturbs.
constexpr int64_t kPiece = 64;

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
      const auto begin = TimedTogether::Clock::now();
      pool.parallel_for(kPiece, [&](int64_t chunk) { sum.fetch_add(read_chunk(buffer.data() + (first + chunk) * kChunk)); });
      best = std::max(best, static_cast<double>(kPiece * kChunk) / together.seconds_since(begin));
    }
  }
  return sum.load() == 0 ? 0 : best;
}

double copy_bandwidth(const std::byte* from, int64_t size_bytes, ThreadPool& pool, const TimedTogether& together) {
  together.start();
  const auto begin = TimedTogether::Clock::now();
  Buffer fresh(size_bytes);
  pool.parallel_for((size_bytes + kChunk - 1) / kChunk, [&](int64_t chunk) {
    const int64_t at = chunk * kChunk;
    std::memcpy(fresh.data() + at, from + at, static_cast<size_t>(std::min(kChunk, size_bytes - at)));
  });
  return static_cast<double>(size_bytes) / together.seconds_since(begin);
}

double multiply_add_peak(const Context& context, const TimedTogether& together) {
  // One tile over and over: its weights and rows stay in the first cache.
  const MatmulPath& path = *matmul_path(context.kernels.vector);
  constexpr int64_t kIn = 128;
  constexpr int kCalls = 2000;
  const TileFn tile = path.tile(WeightFormat::kF32, path.max_rows, 1);
  double best = 1e9;
  for (int repeat = 0; repeat < 20; ++repeat) {
    together.start();
    const auto begin = TimedTogether::Clock::now();
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
    best = std::min(best, together.seconds_since(begin));
  }
  return 2.0 * kCalls * static_cast<double>(kIn * kPanel * path.max_rows * context.pool.threads()) / best;
}

}  // namespace tp::cpu
