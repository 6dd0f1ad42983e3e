#include "runtime/bench.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "runtime/bench_run.h"
#include "runtime/generate.h"
#include "runtime/machine_limits.h"
#include "runtime/output_file.h"
#include "runtime/process_memory.h"
#include "runtime/step_cost.h"
#include "sharding/checkpoint.h"

namespace tp {
namespace {

constexpr int64_t kWarmUpPrompt = 16, kWarmUpNew = 4;

// The same ids on every rank.
std::vector<GeneratePrompt> random_prompts(int64_t rows, int64_t length, int64_t new_tokens, int64_t vocab) {
  std::mt19937 random(20240229);
  std::vector<GeneratePrompt> prompts(static_cast<size_t>(rows));
  for (GeneratePrompt& prompt : prompts) {
    prompt.max_new_tokens = new_tokens;
    for (int64_t i = 0; i < length; ++i) prompt.ids.push_back(static_cast<int32_t>(random() % static_cast<uint32_t>(vocab)));
  }
  return prompts;
}

// Bytes of this rank's cache that a step in the middle of the run reads for one sequence: layers with a window read no more.
int64_t cache_bytes_read(const ModelConfig& config, const Engine& engine, int64_t cached) {
  const int64_t position_bytes = engine.cache_bytes() / (engine.slots() * engine.cache_len() * config.num_layers());
  int64_t bytes = 0;
  for (const LayerConfig& layer : config.layers)
    bytes += position_bytes * (layer.window > 0 ? std::min(layer.window, cached) : cached);
  return bytes;
}

// Sum over the ranks.
int64_t total(int64_t value, Communicator& communicator) {
  int64_t sum = 0;
  for (int64_t one : communicator.collect(value)) sum += one;
  return sum;
}

// Time in the collectives of a run's decode steps.
struct CollectiveTimes {
  double shared_s = 0;  // per call, on the rank that came last
  double mean_s = 0;    // of all ranks, waiting included
};

// Every forward pass of a run makes the same number of calls; the first one is the prefill.
CollectiveTimes collective_times(const Timeline& timeline, size_t first_span, int64_t passes, Communicator& communicator) {
  std::vector<double> mine;
  for (size_t i = first_span; i < timeline.spans().size(); ++i)
    if (std::strcmp(timeline.spans()[i].category, "collective") == 0) mine.push_back(timeline.spans()[i].seconds());
  mine.erase(mine.begin(), mine.begin() + static_cast<int64_t>(mine.size()) / std::max<int64_t>(1, passes));
  const std::vector<std::string> all =
      communicator.collect(std::string_view(reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(double)));
  CollectiveTimes times;
  std::vector<double> least = mine;
  for (const std::string& bytes : all) {
    std::vector<double> theirs(bytes.size() / sizeof(double));
    std::memcpy(theirs.data(), bytes.data(), bytes.size());
    for (size_t call = 0; call < std::min(least.size(), theirs.size()); ++call) {
      least[call] = std::min(least[call], theirs[call]);
      times.mean_s += theirs[call] / static_cast<double>(all.size());
    }
  }
  for (const double call : least) times.shared_s += call;
  return times;
}

class Bench {
 public:
  Bench(const Job& job, const RankModel& model, Engine& engine, Communicator& communicator, Timeline& timeline,
        const std::atomic<int>& stop_signal)
      : job_(job), model_(model), engine_(engine), communicator_(communicator), timeline_(timeline), pool_(job.threads) {
    options_.stop_signal = &stop_signal;
  }

  int run() {
    // First steps pay for pages and threads that later ones find ready.
    GenerateResult result =
        generate_random(1, std::min(kWarmUpPrompt, job_.bench_prompts[0]), std::min(kWarmUpNew, job_.bench_new));
    if (result.stop_signal != 0) return result.stop_signal;
    copy_bytes_per_s_ = measure_copying(open_checkpoint(job_.model_dir).files.at(0), pool_, communicator_);
    std::vector<BenchRun> runs;
    for (const int64_t prompt : job_.bench_prompts) {
      for (const int64_t batch : job_.bench_batches) {
        const size_t first_span = timeline_.spans().size();
        result = generate_random(batch, prompt, job_.bench_new);
        if (result.stop_signal != 0) return result.stop_signal;
        runs.push_back(measured(prompt, batch, result.times, first_span));
      }
    }
    if (communicator_.rank() == 0) report(runs);
    return 0;
  }

 private:
  GenerateResult generate_random(int64_t batch, int64_t length, int64_t new_tokens) {
    return generate(engine_, communicator_, model_.config, random_prompts(batch, length, new_tokens, model_.config.vocab_size),
                    options_, nullptr);
  }

  BenchRun measured(int64_t prompt, int64_t batch, const GenerateTimes& times, size_t first_span) {
    BenchRun run{communicator_.world_size(), prompt, job_.bench_new, batch};
    const auto rate = [](double count, double seconds) { return seconds > 0 ? count / seconds : 0.0; };
    run.prefill_tokens_per_s = rate(static_cast<double>(times.prefill_tokens), times.prefill_s);
    run.decode_tokens_per_s = rate(static_cast<double>(times.decode_tokens), times.decode_s);
    const int64_t weights = total(step_weight_bytes(model_, communicator_.rank()), communicator_);
    const int64_t cache = total(cache_bytes_read(model_.config, engine_, prompt + job_.bench_new / 2), communicator_);
    run.bytes_per_token = weights / batch + cache;
    const auto flops_of_rank = static_cast<int64_t>(prefill_flops(model_, prompt));
    run.prefill_flops_per_s = rate(static_cast<double>(batch * total(flops_of_rank, communicator_)), times.prefill_s);
    const CollectiveTimes collectives = collective_times(timeline_, first_span, job_.bench_new, communicator_);
    run.on_chips = job_.device == "tpu";
    run.collective_ratio = rate(collectives.shared_s, times.decode_s);
    run.wait_ratio = rate(collectives.mean_s - collectives.shared_s, times.decode_s);
    run.collective_us_per_token = 1e6 * rate(collectives.shared_s, static_cast<double>(times.decode_tokens));
    run.anonymous_bytes = total(anonymous_bytes(), communicator_);
    run.load_s = static_cast<double>(communicator_.max(static_cast<int64_t>(model_.load_s * 1e6))) / 1e6;
    run.weight_bytes = total(model_.weights.total_bytes(), communicator_);
    run.copy_bytes_per_s = copy_bytes_per_s_;
    if (run.on_chips) return run;
    const MachineLimits limits = measure_limits(pool_, communicator_);
    run.read_bandwidth_bytes_per_s = limits.read_bytes_per_s;
    run.peak_flops_per_s = limits.flops_per_s;
    return run;
  }

  void report(const std::vector<BenchRun>& runs) const {
    if (!job_.bench_results.empty()) return OutputFile(job_.bench_results).write(bench_json(runs));
    OutputFile("").write(job_.bench_json ? bench_json(runs) : bench_table(runs));
    if (!job_.bench_plot.empty()) OutputFile(job_.bench_plot).write(bench_svg(runs));
  }

  const Job& job_;
  const RankModel& model_;
  Engine& engine_;
  Communicator& communicator_;
  Timeline& timeline_;
  cpu::ThreadPool pool_;
  GenerateOptions options_;
  double copy_bytes_per_s_ = 0;
};

}  // namespace

int run_bench(const Job& job, const RankModel& model, Engine& engine, Communicator& communicator, Timeline& timeline,
              const std::atomic<int>& stop_signal) {
  communicator.record(&timeline);
  const int signal = Bench(job, model, engine, communicator, timeline, stop_signal).run();
  communicator.record(nullptr);
  return signal;
}

}  // namespace tp
