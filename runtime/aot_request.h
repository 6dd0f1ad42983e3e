#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/kernel_source.h"
#include "sharding/plan_yaml.h"

namespace tp {

// What `tprun plan aot` asks of tprun-aot, the child that loads libtpu: one JSON object on its standard input. The child
// prints the report on standard output, or an error as tprun does, and exits 0 (fits) or 2 (does not fit, or refused).
struct AotRequest {
  std::string libtpu;  // path of libtpu.so
  std::string model;   // directory or config.json; weights are not needed
  std::string plans_dir;
  PlanRequest plan;
  std::string dtype = "auto";
  std::string weights;           // --weights; empty = as they are stored
  std::string topology;          // as aot_topology.h has it
  int64_t tp_size = 0;           // 0: as many as the topology has devices
  int64_t cache_len = 0;         // 0: max_position_embeddings
  int64_t batch = 1;             // cache slots
  std::vector<int64_t> prefill;  // prompt lengths whose buckets are compiled; empty: every bucket of the cache
  bool json = false;
  std::string dump_hlo;  // directory; empty: none
  std::vector<KernelSource> kernels;
  // What to do. kTrace: only see that the kernels fit the programs of a job; then `libtpu` is the job's plugin and `prefill`
  // the lengths of its prompts. kKernels: compile the packages' own variants, without a model.
  enum class Task { kPlan, kTrace, kKernels } task = Task::kPlan;
  bool all_logits = false;  // kTrace: of every position, as `score` wants them
};

std::string to_json(const AotRequest& request);
// Throws Error for text that to_json did not write.
AotRequest aot_request_from_json(const std::string& text);

}  // namespace tp
