#include "runtime/eager_kernels.h"

#include <ATen/ATen.h>

namespace tp {

EagerKernels::EagerKernels(const std::vector<KernelSource>& sources) : rules_(sources) {
  for (const auto& [op, rule] : rules_.by_op()) norm_ = NormOperator::load(rule.build, rule.names);
}

bool EagerKernels::takes_norm(const std::string& form) {
  if (!norm_) return false;
  const bool takes = rules_.replaces_norm(form);
  ++calls_["norm"][takes ? rules_.by_op().at("norm").package.name : kBuiltIn];
  return takes;
}

std::shared_ptr<EagerValue> EagerKernels::norm(const EagerValue& x, int64_t size, const void* weight, double eps) const {
  const at::Tensor lines = x.tensor().contiguous().view({-1, size});
  const at::Tensor scale = at::from_blob(const_cast<void*>(weight), {size}, lines.options());
  return value_over((*norm_)(lines, scale, eps).view({x.lines, x.features}));
}

}  // namespace tp
