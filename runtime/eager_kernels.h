#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runtime/eager_value.h"
#include "runtime/kernel_calls.h"
#include "runtime/operator_rules.h"
#include "runtime/torch_operator.h"

namespace tp {

// The torch operators that replace operations of the CPU engine, loaded.
class EagerKernels {
 public:
  // None without sources. Throws Error: what OperatorRules and NormOperator::load refuse.
  explicit EagerKernels(const std::vector<KernelSource>& sources);

  bool empty() const { return rules_.by_op().empty(); }
  // Whether a norm of this form runs on the operator; counted. Throws Error as OperatorRules::replaces_norm.
  bool takes_norm(const std::string& form);
  // The norm of every `size` features of x, rounded as the operator rounds. `weight` [size] is of x's dtype.
  std::shared_ptr<EagerValue> norm(const EagerValue& x, int64_t size, const void* weight, double eps) const;

  const KernelCalls& calls() const { return calls_; }

 private:
  OperatorRules rules_;
  std::optional<NormOperator> norm_;
  KernelCalls calls_;
};

}  // namespace tp
