#pragma once

#include <string>
#include <vector>

#include "sharding/error.h"
#include "sharding/yaml_document.h"

namespace tp {

// A kernel package that a plan puts in the place of an operation (docs/kernels.md).
struct PlanKernel {
  std::string op;
  std::string backend;  // "cpu" or "tpu"; empty = both
  std::string package;
  bool built_in = false;      // the built-in operation runs where the kernel does not fit; otherwise that is an error
  std::string operator_name;  // of the package's torch library; empty = as the package says
  std::string where;          // file:line:column
};

// The value of `kernels:`. What is not
//   OP: KERNEL      or      OP: {cpu: KERNEL, tpu: KERNEL}
// with KERNEL = PACKAGE or {kernel: PACKAGE, fallback: error|builtin, operator: NAME} is added to `problems` with its place:
// names that are none (with near ones), what is there twice.
std::vector<PlanKernel> parse_plan_kernels(const YamlNode& value, const std::string& file, std::vector<Error>& problems);

// `kernels:` of a plan file; none when the file has no such key. Throws Error with all problems.
std::vector<PlanKernel> read_plan_kernels(const std::string& plan_file);

}  // namespace tp
