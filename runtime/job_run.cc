#include "runtime/job_run.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <future>

#include "runtime/bench.h"
#include "runtime/engine_compiled.h"
#include "runtime/engine_eager.h"
#include "runtime/progress.h"
#include "runtime/rank_model.h"
#include "runtime/run_generate.h"
#include "runtime/save_quantized.h"
#include "runtime/score.h"
#include "runtime/serve/run_chat.h"
#include "runtime/serve/run_serve.h"
#include "runtime/stats.h"
#include "runtime/stop_signals.h"
#include "runtime/trace_file.h"
#include "sharding/error.h"

namespace tp {
namespace {

RankModel load(const Job& job, Communicator& communicator) {
  Progress progress("loading weights", "MB", 1e6);
  ModelRequest request;
  request.model_dir = job.model_dir;
  request.plan = job.plan;
  request.plans_dir = job.plans_dir;
  request.dtype = job.dtype;
  request.load.layout = job.device == "cpu" ? LinearLayout::kPacked : LinearLayout::kStored;
  request.kind = weight_kind(job.weights);
  request.load.in_place = job.load_format == "mmap";
  request.load.threads = job.threads;
  if (communicator.rank() == 0) request.load.progress = [&](int64_t done, int64_t total) { progress.update(done, total); };
  return load_rank_model(request, communicator);
}

int64_t new_tokens(const Job& job, const JobPrompt& prompt) {
  if (job.command != "generate" || !prompt.error.empty()) return 0;
  return prompt.max_new_tokens.value_or(job.max_new_tokens);
}

// What the longest prompt and its new tokens need, unless the launcher said more.
int64_t cache_len(const Job& job) {
  if (job.cache_len > 0) return job.cache_len;
  int64_t longest = 1;
  if (job.command == "bench") longest = *std::max_element(job.bench_prompts.begin(), job.bench_prompts.end()) + job.bench_new;
  for (const JobPrompt& prompt : job.prompts)
    longest = std::max(longest, static_cast<int64_t>(prompt.ids.size()) + new_tokens(job, prompt));
  return longest;
}

std::unique_ptr<Engine> make_engine(const Job& job, const RankModel& model, Communicator& communicator, Timeline* timeline) {
  if (job.device == "cpu")
    return make_eager_engine(model, communicator, {slots_of(job), cache_len(job), job.threads, timeline, job.kernels,
                                                   job.activations == "int8", job.cache_dtype == "int8"});
  PjrtClientOptions client;
  if (job.timeout_s > 0) client.timeout = std::chrono::milliseconds(static_cast<int64_t>(job.timeout_s * 1000));
  CompiledEngineOptions options;
  options.slots = slots_of(job);
  options.cache_len = cache_len(job);
  options.compile_cache = job.compile_cache;
  options.dump_hlo = job.dump_hlo;
  options.op_by_op = job.disable_compile;
  options.kernels = job.kernels;
  options.warn = [rank = communicator.rank()](const std::string& text) {
    std::fprintf(stderr, "tprun: rank %d: %s\n", rank, text.c_str());
  };
  return make_compiled_engine({&model}, PjrtClient::create(PjrtPlugin::load(job.pjrt_plugin), client), communicator, options);
}

using TokenizerLoad = std::future<std::shared_ptr<const Tokenizer>>;

// Rank 0's, for commands that write text; read beside the weights: that of a large vocabulary takes as long as a small model.
TokenizerLoad load_tokenizer(const Job& job, const Communicator& communicator) {
  const bool has_text = job.command == "generate" || job.command == "serve" || job.command == "chat";
  const bool wanted = has_text && communicator.rank() == 0 && !job.tokenizer.empty();
  return std::async(wanted ? std::launch::async : std::launch::deferred,
                    [wanted, &job] { return wanted ? Tokenizer::load(job.tokenizer) : nullptr; });
}

GenerateResult run_command(const Job& job, const RankModel& model, TokenizerLoad& tokenizer, Engine& engine,
                           Communicator& communicator, Timeline& timeline, const std::atomic<int>& stop_signal) {
  if (job.command == "generate") return run_generate(job, model, tokenizer.get(), engine, communicator, stop_signal);
  if (job.command == "serve") return run_serve(job, model, tokenizer.get(), engine, communicator, stop_signal);
  if (job.command == "chat") return run_chat(job, model, tokenizer.get(), engine, communicator, stop_signal);
  GenerateResult result;
  if (job.command == "score") {
    result.stop_signal = run_score(job, model, engine, communicator, stop_signal);
  } else if (job.command == "bench") {
    result.stop_signal = run_bench(job, model, engine, communicator, timeline, stop_signal);
  } else {
    throw Error("", "a worker has no command `" + job.command + "`");
  }
  return result;
}

}  // namespace

int run_job(const Job& job, Communicator& communicator) {
  TokenizerLoad tokenizer = load_tokenizer(job, communicator);
  const RankModel model = load(job, communicator);
  if (!job.save_quantized.empty()) save_quantized(model, job.model_dir, job.save_quantized, job.threads, communicator);
  // Not earlier: who waits for other ranks in MPI_Init, or reads a large checkpoint, looks at no flag.
  const std::atomic<int>& stop_signal = catch_stop_signals();
  Timeline timeline;
  const std::unique_ptr<Engine> engine = make_engine(job, model, communicator, job.trace.empty() ? nullptr : &timeline);
  if (!job.trace.empty()) communicator.record(&timeline);
  const GenerateResult result = run_command(job, model, tokenizer, *engine, communicator, timeline, stop_signal);
  communicator.record(nullptr);
  if (!job.trace.empty()) write_trace(job.trace, timeline, communicator);
  if (!job.stats.empty()) write_stats(job.stats, job.device, model, *engine, result.times, communicator);
  return result.stop_signal == 0 ? 0 : 128 + result.stop_signal;
}

}  // namespace tp
