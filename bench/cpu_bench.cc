// tprun-cpu-bench [THREADS [LAYERS]]: the CPU kernels on the shapes of Qwen3-0.6B, as ratios to what the machine does in the
// same run: bytes read per second for a few rows (decode), multiply-adds per second for many (prefill).

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <string>
#include <vector>

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

Layers make_layers(int count, ThreadPool& pool) {
  Layers layers;
  std::vector<uint16_t> weight(6144 * 1024);
  for (size_t i = 0; i < weight.size(); ++i) weight[i] = static_cast<uint16_t>(0x3c00 + (i * 2654435761U >> 22));
  for (int layer = 0; layer < count; ++layer) {
    for (const Shape& shape : kShapes) {
      layers.linears.emplace_back(
          shape.out, shape.in, std::vector<WeightBlock>{{{weight.data(), DType::kBF16, shape.in}, shape.out, shape.in}}, pool);
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

int run(int threads, int layer_count) {
  ThreadPool pool(threads);
  const Context context{pool, choose_kernels(available_isas(), pool)};
  std::printf("threads %d, vector %s, bfloat16 few %s, many %s\n", threads,
              std::string(isa_name(context.kernels.vector)).c_str(), std::string(isa_name(context.kernels.bf16_few)).c_str(),
              std::string(isa_name(context.kernels.bf16_many)).c_str());
  const double empty = best_seconds(20, pool, [&] {
    for (int i = 0; i < 100; ++i) pool.parallel_for(threads, [](int64_t) {});
  });
  std::printf("empty parallel call %.2f us\n", empty / 100 * 1e6);
  const Layers layers = make_layers(layer_count, pool);
  const double bandwidth = read_bandwidth(int64_t{256} << 20, 5, pool), peak = multiply_add_peak(context);
  std::printf("reading %.2f GB/s, multiply-add peak %.1f GFLOP/s\n", bandwidth / 1e9, peak / 1e9);
  for (int64_t rows : {1, 2, 4, 8, 16, 64, 128, 512}) bench(layers, rows, bandwidth, peak, context);
  std::printf("reading again %.2f GB/s\n", read_bandwidth(int64_t{256} << 20, 5, pool) / 1e9);
  return 0;
}

}  // namespace
}  // namespace tp::cpu

int main(int argc, char** argv) {
  return tp::cpu::run(argc > 1 ? std::atoi(argv[1]) : 1, argc > 2 ? std::atoi(argv[2]) : 4);
}
