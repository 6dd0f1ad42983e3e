#pragma once

#include <map>
#include <string>
#include <vector>

namespace tp {

// An operation of ops.h that a kernel may replace, and the parameters that tell which of its forms a variant is for.
struct KernelOp {
  std::string name;
  std::vector<std::string> parameters;
  std::vector<std::string>
      operators;                    // usual names of a torch operator that computes it; none: only compiled programs replace it
  std::map<int, int> aliases = {};  // operands that a kernel writes in place: which result is each of them afterwards
};
const std::vector<KernelOp>& kernel_ops();

// nullptr for a name that is none.
const KernelOp* find_kernel_op(const std::string& name);

// How an Error mends a name that is no operation.
std::string kernel_op_fix(const std::string& name);

}  // namespace tp
