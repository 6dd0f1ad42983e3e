#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/kernel_source.h"
#include "runtime/prompt_options.h"
#include "runtime/serve/serve_options.h"
#include "sharding/plan_yaml.h"

namespace tp {

// One prompt of a run, already turned into ids by the launcher.
struct JobPrompt {
  std::vector<int32_t> ids;
  std::string text;                       // what the user wrote, for the echo; empty with --ids
  std::optional<int64_t> max_new_tokens;  // per-line override
  std::optional<PromptOptions> options;   // instead of the job's; per-line override
  int64_t index = 0;                      // which prompt of the input it is
  std::optional<int64_t> sample;          // which of several continuations of it
  uint64_t random_stream = 0;             // sampler.h
  std::string error;                      // of a bad line that is passed over: not run, only told in the output
};

// Everything a worker needs to run one command. The launcher checks it all, then writes it as one line of JSON to the standard
// input of rank 0, which broadcasts it: no length limit, no temporary file, and it reaches other hosts.
struct Job {
  std::string command;  // generate | chat | serve | score | bench
  std::string model_dir;
  PlanRequest plan;
  std::string plans_dir;
  std::string tokenizer;  // path; empty = print ids
  std::string dtype = "auto";
  std::string weights;  // --weights; empty = as they are stored
  std::string activations;     // --activations: int8; empty = in the model's dtype
  std::string cache_dtype;     // --cache-dtype: int8; empty = the model's
  std::string save_quantized;  // directory that gets the quantized weights as a checkpoint; empty = none
  std::string load_format = "mmap";
  std::string device = "cpu";
  std::string pjrt_plugin;    // --device tpu: path of the plugin that runs the chips
  std::string compile_cache;  // directory of compiled programs; empty = none
  std::string dump_hlo;       // directory for the programs' text; empty = none
  bool disable_compile = false;  // run op by op, as the CPU always does
  std::vector<KernelSource> kernels;
  int threads = 1;
  double timeout_s = 0;

  std::vector<JobPrompt> prompts;
  int64_t max_new_tokens = 0;
  int64_t cache_len = 0;  // resolved by the launcher
  int64_t batch = 1;      // rows in flight
  PromptOptions options;
  std::vector<int32_t> eos_token_ids;  // empty when the model has none
  bool prefix_cache = false;           // prompts that begin alike share what is computed
  bool echo = true;
  std::string format = "text";    // text | json
  std::string output;             // file; empty = stdout
  int64_t output_kept_bytes = 0;  // --resume: the output file's beginning that stays as it is
  std::string stats;              // file; empty = none

  // serve and chat turn messages into prompts while they run
  std::string chat_template;  // file; empty = the model's
  std::string system;         // system message; empty = none
  ServeOptions serve;

  int64_t score_window = 0;  // score: tokens of a window; 0 = every text whole
  int64_t score_stride = 0;  // from the beginning of one window to that of the next, 1 to score_window

  std::string trace;  // file; empty = none

  // bench: every prompt length with every number of rows in flight
  std::vector<int64_t> bench_prompts = {128}, bench_batches = {1};
  int64_t bench_new = 64;
  bool bench_json = false;
  std::string bench_plot;     // file; empty = none
  std::string bench_results;  // file that gets the runs as JSON instead of a report; empty = report them
};

// Rows that the engine of the job holds at a time.
int64_t slots_of(const Job& job);

std::string to_json(const Job& job);
// Throws Error for a job that another version of tprun wrote.
Job job_from_json(const std::string& text);

}  // namespace tp
