#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/sampler.h"
#include "sharding/plan_yaml.h"

namespace tp {

// One prompt of a run, already turned into ids by the launcher.
struct JobPrompt {
  std::vector<int32_t> ids;
  std::string text;  // what the user wrote, for the echo; empty with --ids
  std::optional<int64_t> max_new_tokens;  // per-line override
};

// Everything a worker needs to run one command. The launcher checks it all, then writes it as one line of JSON to the standard
// input of rank 0, which broadcasts it: no length limit, no temporary file, and it reaches other hosts.
struct Job {
  std::string command;  // generate | score | bench
  std::string model_dir;
  PlanRequest plan;
  std::string plans_dir;
  std::string tokenizer;  // path; empty = print ids
  std::string dtype = "auto";
  std::string load_format = "mmap";
  std::string device = "cpu";
  std::string pjrt_plugin;    // --device tpu: path of the plugin that runs the chips
  std::string compile_cache;  // directory of compiled programs; empty = none
  std::string dump_hlo;       // directory for the programs' text; empty = none
  int threads = 1;
  double timeout_s = 0;

  std::vector<JobPrompt> prompts;
  int64_t max_new_tokens = 0;
  int64_t cache_len = 0;  // resolved by the launcher
  int64_t batch = 1;      // rows in flight
  SamplingOptions sampling;
  std::vector<int32_t> eos_token_ids;  // empty with --ignore-eos
  std::vector<std::string> stop;
  bool echo = true;
  std::string format = "text";  // text | json
  std::string output;           // file; empty = stdout
  std::string stats;            // file; empty = none

  // bench
  int64_t bench_prompt = 128, bench_new = 64;
  bool bench_json = false;
};

std::string to_json(const Job& job);
// Throws Error for a job that another version of tprun wrote.
Job job_from_json(const std::string& text);

}  // namespace tp
