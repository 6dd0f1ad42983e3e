#include "runtime/bench.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <random>

#include "runtime/generate.h"
#include "runtime/output_file.h"
#include "runtime/process_memory.h"
#include "runtime/read_bandwidth.h"

namespace tp {
namespace {

using Json = nlohmann::ordered_json;

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

// Bytes of a parameter that this rank reads for one token of one sequence, on average: of experts the chosen ones. Where the
// embedding table is cut by rows its one row lies on one rank.
int64_t bytes_read(const RankModel& model, ParamId id, int rank) {
  const Parameter& parameter = model.table.at(id);
  int64_t elements = parameter.elements();
  if (is_expert_parameter(parameter.module.role)) elements = elements * model.config.moe->top_k / model.config.moe->num_experts;
  if (parameter.module.role == Role::kEmbedding) {
    const bool by_rows = !parameter.slice.whole() && parameter.slice.dim == 0;
    elements = by_rows && rank != 0 ? 0 : parameter.shape()[1];
  }
  return elements * size_bytes(model.weights.dtype(parameter));
}

// Of this rank's weights, and of its cache in a step in the middle of the run, where layers with a window read no more of it.
int64_t bytes_per_token(const Job& job, const RankModel& model, const Engine& engine, int rank) {
  int64_t bytes = 0;
  for (ParamId id = 0; id < model.table.size(); ++id) bytes += bytes_read(model, id, rank);
  const int64_t cached = job.bench_prompt + job.bench_new / 2;
  const int64_t position_bytes = engine.cache_bytes() / (engine.slots() * engine.cache_len() * model.config.num_layers());
  for (const LayerConfig& layer : model.config.layers)
    bytes += position_bytes * (layer.window > 0 ? std::min(layer.window, cached) : cached);
  return bytes;
}

// Sum over the ranks.
int64_t total(int64_t value, Communicator& communicator) {
  int64_t sum = 0;
  for (int64_t one : communicator.collect(value)) sum += one;
  return sum;
}

void print_table(const Json& run) {
  std::printf("tp_size %lld, prompt %lld, new %lld, batch %lld\n", run["tp_size"].get<long long>(),
              run["prompt"].get<long long>(), run["new"].get<long long>(), run["batch"].get<long long>());
  std::printf("  prefill          %10.1f tokens/s\n", run["prefill_tokens_per_s"].get<double>());
  std::printf("  decode           %10.1f tokens/s\n", run["decode_tokens_per_s"].get<double>());
  std::printf("  bytes per token  %10.1f MB\n", run["bytes_per_token"].get<double>() / 1e6);
  std::printf("  read bandwidth   %10.1f GB/s, %.0f%% of it used\n", run["read_bandwidth_bytes_per_s"].get<double>() / 1e9,
              run["bandwidth_ratio"].get<double>() * 100);
  std::printf("  collectives      %10.1f%% of decode\n", run["collective_ratio"].get<double>() * 100);
  std::printf("  load             %10.2f s\n", run["load_s"].get<double>());
  std::printf("  anonymous memory %10.1f MB in all ranks\n", run["anonymous_bytes"].get<double>() / 1e6);
}

}  // namespace

int run_bench(const Job& job, const RankModel& model, Engine& engine, Communicator& communicator,
              const std::atomic<int>& stop_signal) {
  GenerateOptions options;
  options.stop_signal = &stop_signal;
  const int64_t vocab = model.config.vocab_size;
  const auto generate_random = [&](int64_t length, int64_t new_tokens) {
    return generate(engine, communicator, model.config, random_prompts(job.batch, length, new_tokens, vocab), options, nullptr);
  };
  // First steps pay for pages and threads that later ones find ready.
  GenerateResult result = generate_random(std::min(kWarmUpPrompt, job.bench_prompt), std::min(kWarmUpNew, job.bench_new));
  if (result.stop_signal != 0) return result.stop_signal;
  result = generate_random(job.bench_prompt, job.bench_new);
  if (result.stop_signal != 0) return result.stop_signal;

  const GenerateTimes& times = result.times;
  const int64_t anonymous = total(anonymous_bytes(), communicator);
  const double bandwidth = measure_read_bandwidth(job.threads, communicator);
  const int64_t bytes = total(bytes_per_token(job, model, engine, communicator.rank()), communicator);
  const double load_s = static_cast<double>(communicator.max(static_cast<int64_t>(model.load_s * 1e6))) / 1e6;
  if (communicator.rank() != 0) return 0;

  const double decode_rate = times.decode_s > 0 ? static_cast<double>(times.decode_tokens) / times.decode_s : 0.0;
  const Json run{
      {"tp_size", communicator.world_size()},
      {"prompt", job.bench_prompt},
      {"new", job.bench_new},
      {"batch", job.batch},
      {"prefill_tokens_per_s", times.prefill_s > 0 ? static_cast<double>(times.prefill_tokens) / times.prefill_s : 0.0},
      {"decode_tokens_per_s", decode_rate},
      {"bytes_per_token", bytes},
      {"read_bandwidth_bytes_per_s", bandwidth},
      {"bandwidth_ratio", static_cast<double>(bytes) * decode_rate / bandwidth},
      {"collective_ratio", times.decode_s > 0 ? times.decode_collective_s / times.decode_s : 0.0},
      {"load_s", load_s},
      {"anonymous_bytes", anonymous}};
  if (job.bench_json) {
    OutputFile("").write(Json{{"runs", {run}}}.dump() + "\n");
  } else {
    print_table(run);
  }
  return 0;
}

}  // namespace tp
