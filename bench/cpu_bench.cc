// tprun-cpu-bench [THREADS [LAYERS]]: the CPU kernels on the shapes of Qwen3-0.6B, as ratios to what the machine does in the
// same run: bytes read per second for a few rows (decode), multiply-adds per second for many (prefill).

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <numeric>
#include <string>
#include <vector>

#include "runtime/cpu/attention.h"
#include "runtime/cpu/kernel_choice.h"
#include "runtime/cpu/machine_speed.h"
#include "runtime/cpu/packed_linear.h"

namespace tp::cpu {
namespace {

struct Shape {
  const char* name;
  int64_t out, in;
};
constexpr Shape kShapes[] = {{"qkv", 4096, 1024}, {"o", 1024, 2048}, {"gate_up", 6144, 1024}, {"down", 1024, 3072}};

// Wall time; with one thread the time that it had a core, which other programs on the machine disturb less.
double seconds_now(const ThreadPool& pool) {
  timespec now{};
  clock_gettime(pool.threads() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double best_seconds(int repeats, const ThreadPool& pool, const auto& run) {
  double best = 1e9;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const double begin = seconds_now(pool);
    run();
    best = std::min(best, seconds_now(pool) - begin);
  }
  return best;
}

struct Layers {
  std::vector<PackedLinear> linears;
  double bytes = 0, flops_per_row = 0;
};

Layers make_layers(int count, WeightFormat format, ThreadPool& pool) {
  Layers layers;
  std::vector<uint16_t> weight(6144 * 1024);
  for (size_t i = 0; i < weight.size(); ++i)
    weight[i] = static_cast<uint16_t>(0x3c00 + (static_cast<uint32_t>(i) * 2654435761U >> 22));
  for (int layer = 0; layer < count; ++layer) {
    for (const Shape& shape : kShapes) {
      const std::vector<WeightBlock> blocks = {{{weight.data(), DType::kBF16, shape.in}, shape.out, shape.in}};
      const std::vector<uint16_t> scales(static_cast<size_t>(shape.out), 0x3c00);
      layers.linears.push_back(format == WeightFormat::kBF16
                                   ? PackedLinear(shape.out, shape.in, DType::kBF16, blocks, pool)
                                   : PackedLinear::quantized(shape.out, shape.in, format, blocks, scales, pool));
      layers.bytes += static_cast<double>(layers.linears.back().size_bytes());
      layers.flops_per_row += 2.0 * static_cast<double>(shape.out * shape.in);
    }
  }
  return layers;
}

void bench(const Layers& layers, int64_t rows, double bandwidth, double peak, const Context& context) {
  const std::vector<uint16_t> x(static_cast<size_t>(rows * 3072), 0x3f80);
  std::vector<uint16_t> y(static_cast<size_t>(rows * 6144));
  // The best of each product, summed: short pieces find undisturbed moments. All weights pass between two runs of one product,
  // so none is in a cache.
  std::vector<double> best(layers.linears.size(), 1e9);
  for (int repeat = 0; repeat < (rows > 64 ? 3 : 8); ++repeat) {
    for (size_t i = 0; i < best.size(); ++i) {
      const PackedLinear& linear = layers.linears[i];
      best[i] =
          std::min(best[i], best_seconds(1, context.pool, [&] {
                     linear.run({x.data(), DType::kBF16, linear.in()}, rows, {y.data(), DType::kBF16, linear.out()}, context);
                   }));
    }
  }
  const double seconds = std::accumulate(best.begin(), best.end(), 0.0);
  const double read = layers.bytes / seconds, flops = layers.flops_per_row * static_cast<double>(rows) / seconds;
  std::printf("%4d rows  %8.3f ms  %6.2f GB/s (%3.0f%% of reading)  %7.1f GFLOP/s (%3.0f%% of peak)\n", static_cast<int>(rows),
              seconds * 1e3, read / 1e9, 100 * read / bandwidth, flops / 1e9, 100 * flops / peak);
}

// Packing out of memory that was touched before, against a copy into memory that was not.
void bench_packing(ThreadPool& pool) {
  constexpr int64_t kOut = 6144, kIn = 1024, kBytes = kOut * kIn * 2;
  const std::vector<uint16_t> weight(kOut * kIn, 0x3f80);
  const double packing = best_seconds(5, pool, [&] {
    PackedLinear(kOut, kIn, DType::kBF16, {{{weight.data(), DType::kBF16, kIn}, kOut, kIn}}, pool);
  });
  const double copying = best_seconds(5, pool, [&] {
    Buffer copy(kBytes);
    pool.parallel_for(64, [&](int64_t part) {
      const int64_t at = part * (kBytes / 64);
      std::memcpy(copy.data() + at, reinterpret_cast<const std::byte*>(weight.data()) + at, kBytes / 64);
    });
  });
  std::printf("packing %.2f GB/s, copying into fresh memory %.2f GB/s (%.0f%%)\n", kBytes / packing / 1e9,
              kBytes / copying / 1e9, 100 * copying / packing);
}

// 16 heads, 8 KV heads of 128 features.
void bench_attention(double bandwidth, double peak, const Context& context) {
  constexpr int64_t kHeads = 16, kKvHeads = 8, kDim = 128, kCacheLen = 4096;
  std::vector<uint16_t> k(kKvHeads * kCacheLen * kDim, 0x3c00), v = k;
  const LayerCache cache{k.data(), v.data(), DType::kBF16, kKvHeads, kCacheLen, kDim, kDim};
  const int32_t slot = 0;
  const auto seconds = [&](int32_t start, int32_t length) {
    const std::vector<uint16_t> q(static_cast<size_t>(length) * kHeads * kDim, 0x3c00);
    std::vector<uint16_t> out(q.size());
    return best_seconds(5, context.pool, [&] {
      attend({q.data(), DType::kBF16, kHeads * kDim}, {1, length, &start, &length, &slot}, cache, {kHeads, 0.088F},
             {out.data(), DType::kBF16, kHeads * kDim}, context);
    });
  };
  for (int32_t keys : {192, 4000}) {
    const double time = seconds(keys - 1, 1);
    const double read = 2.0 * 2 * kKvHeads * kDim * keys / time;
    std::printf("attention, 1 position of %d keys: %.1f us, %.2f GB/s (%.0f%% of reading)\n", keys, time * 1e6, read / 1e9,
                100 * read / bandwidth);
  }
  for (int32_t length : {128, 512, 2048}) {
    const double time = seconds(0, length), flops = 4.0 * kHeads * kDim * length * length / 2;
    std::printf("attention, %d positions: %.2f ms, %.1f GFLOP/s of what is visible (%.0f%% of peak)\n", length, time * 1e3,
                flops / time / 1e9, 100 * flops / time / peak);
  }
}

int run(int threads, int layer_count) {
  ThreadPool pool(threads);
  const Context context{pool, choose_kernels(available_isas(), pool)};
  std::printf("threads %d, vector %s, bfloat16 few %s, many %s, integers %s\n", threads,
              std::string(isa_name(context.kernels.vector)).c_str(), std::string(isa_name(context.kernels.bf16_few)).c_str(),
              std::string(isa_name(context.kernels.bf16_many)).c_str(),
              std::string(isa_name(context.kernels.integers)).c_str());
  const double empty = best_seconds(20, pool, [&] {
    for (int i = 0; i < 100; ++i) pool.parallel_for(threads, [](int64_t) {});
  });
  std::printf("empty parallel call %.2f us\n", empty / 100 * 1e6);
  const double bandwidth = read_bandwidth(int64_t{256} << 20, 5, pool), peak = multiply_add_peak(context);
  std::printf("reading %.2f GB/s, multiply-add peak %.1f GFLOP/s\n", bandwidth / 1e9, peak / 1e9);
  for (WeightFormat format :
       {WeightFormat::kBF16, WeightFormat::kInt8, WeightFormat::kInt4Group32, WeightFormat::kInt4Group128}) {
    // Fewer bytes a weight, more layers: all of them are larger than the caches.
    const Layers layers = make_layers(layer_count * 16 / bits(format), format, pool);
    std::printf("weights of %d bits, groups of %d\n", bits(format), static_cast<int>(group_size(format)));
    for (int64_t rows : {1, 2, 4, 8, 16, 128}) bench(layers, rows, bandwidth, peak, context);
    if (format != WeightFormat::kBF16) {
      std::printf("the same, rows quantized\n");
      for (int64_t rows : {1, 2, 4, 8, 16, 128}) bench(layers, rows, bandwidth, peak, {pool, context.kernels, true});
    }
    if (format == WeightFormat::kBF16) bench(layers, 512, bandwidth, peak, context);
  }
  bench_packing(pool);
  bench_attention(bandwidth, peak, context);
  std::printf("reading again %.2f GB/s\n", read_bandwidth(int64_t{256} << 20, 5, pool) / 1e9);
  return 0;
}

}  // namespace
}  // namespace tp::cpu

int main(int argc, char** argv) {
  return tp::cpu::run(argc > 1 ? std::atoi(argv[1]) : 1, argc > 2 ? std::atoi(argv[2]) : 4);
}
