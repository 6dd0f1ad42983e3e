#include "sharding/kernel_ops.h"

#include <algorithm>

#include "sharding/near_names.h"

namespace tp {

const std::vector<KernelOp>& kernel_ops() {
  static const std::vector<KernelOp> ops = {
      {"norm", {"kind", "tokens", "size", "dtype", "eps"}, {"rms_norm", "apply_rms_norm", "rmsnorm"}},
      {"decode_attention", {"rows", "heads", "kv_heads", "head_dim", "cache_len", "dtype", "scale"}, {}},
      {"append_attention", {"rows", "heads", "kv_heads", "head_dim", "cache_len", "dtype", "scale"}, {}, {{3, 1}, {4, 2}}},
  };
  return ops;
}

const KernelOp* find_kernel_op(const std::string& name) {
  const auto found = std::ranges::find(kernel_ops(), name, &KernelOp::name);
  return found == kernel_ops().end() ? nullptr : &*found;
}

std::string kernel_op_fix(const std::string& name) {
  std::vector<std::string> names;
  std::string list;
  for (const KernelOp& op : kernel_ops()) {
    names.push_back(op.name);
    list += (list.empty() ? "" : ", ") + op.name;
  }
  const std::string near = did_you_mean(name, names);
  return near.empty() ? "one of: " + list : near;
}

}  // namespace tp
