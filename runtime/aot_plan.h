#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/aot_request.h"
#include "runtime/aot_topology.h"
#include "runtime/hlo_builder.h"
#include "runtime/kernel_calls.h"

namespace tp {

// Sets what libtpu must find in its environment to compile without a chip (docs/tpu.md). Values that are set win.
void prepare_environment(const AotTopology& topology);

// One program compiled for one device of the topology.
struct AotProgram {
  std::string name;
  bool compiled = false;  // false: the compiler, or our own count of the arguments, says that it does not fit
  std::string refusal;    // then: what it said
  int64_t argument_bytes = 0, output_bytes = 0, temp_bytes = 0, alias_bytes = 0, peak_bytes = 0, limit_bytes = 0;
  double compile_s = 0;
  std::map<std::string, HloCollective> collectives;  // of one execution, counted in the program's text
  KernelCalls kernel_calls;                          // of one execution
  struct Work {
    int64_t temp_bytes = 0, peak_bytes = 0;
  };
  std::optional<Work> built_in;  // with kernels: what the same program needs without
};

struct AotReport {
  AotTopology topology;
  int tp_size = 0;
  std::string dtype;
  int64_t cache_len = 0, batch = 0;
  int64_t weights_bytes = 0, cache_bytes = 0;  // on one device
  std::vector<AotProgram> programs;
  bool fits = true;
  std::string advice;  // what would fit, when this does not
};

// Compiles the programs that the request's run needs. `progress` is told what happens next. Throws Error for a bad request,
// model or plan, and for what the compiler refuses for another reason than memory.
AotReport run_aot(const AotRequest& request, const std::function<void(const std::string&)>& progress);

}  // namespace tp
