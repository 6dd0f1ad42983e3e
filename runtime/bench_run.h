#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tp {

// What one run of `tprun bench` found out. Sums are over all ranks.
struct BenchRun {
  int64_t tp_size = 1, prompt = 0, new_tokens = 0, batch = 1;
  double prefill_tokens_per_s = 0, decode_tokens_per_s = 0;
  int64_t bytes_per_token = 0;  // weights that a step reads and its cache, per sequence of the batch
  double read_bandwidth_bytes_per_s = 0;
  double prefill_flops_per_s = 0, peak_flops_per_s = 0;
  // Of a decode step: in collectives, per call on the rank that waited least; and what the others waited on top, on average.
  double collective_ratio = 0, wait_ratio = 0;
  double collective_us_per_token = 0;
  double load_s = 0;
  int64_t weight_bytes = 0;     // that were loaded
  double copy_bytes_per_s = 0;  // of the file into fresh memory
  int64_t anonymous_bytes = 0;
  // The host's limits say nothing of chips, and their collectives are inside of programs: no ratio to either is known.
  bool on_chips = false;

  double bandwidth_ratio() const;
  double flops_ratio() const;
  double load_ratio() const;
};

// One object, as cli.md has it.
std::string bench_json(const std::vector<BenchRun>& runs);
// What bench_json wrote. Throws Error for anything else.
std::vector<BenchRun> bench_runs(const std::string& json);
// For people: a column for each run.
std::string bench_table(const std::vector<BenchRun>& runs);
// A drawing: two bars for each run, how much of the read bandwidth decode uses and how much of the peak prefill does.
std::string bench_svg(const std::vector<BenchRun>& runs);

}  // namespace tp
