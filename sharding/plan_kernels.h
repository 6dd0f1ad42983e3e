#pragma once

#include <string>
#include <vector>

namespace tp {

// A kernel package that a plan puts in the place of an operation (docs/kernels.md).
struct PlanKernel {
  std::string op, package;
  bool built_in = false;  // the built-in operation runs where no variant fits; otherwise that is an error
  std::string where;      // file:line:column
};

// `kernels:` of a plan file; none when the file has no such key. Throws Error with the place for what is not
// `op: package` or `op: {kernel: package, fallback: error|builtin}`, and for an operation that is there twice.
std::vector<PlanKernel> read_plan_kernels(const std::string& plan_file);

}  // namespace tp
