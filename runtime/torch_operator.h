#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <string>
#include <vector>

#include "runtime/operator_build.h"

namespace tp {

// An operator that computes a norm, in a library of its own:
//   NAME(Tensor x, Tensor weight, float eps) -> Tensor
//   NAME(Tensor! out, Tensor x, Tensor weight, float eps) -> ()
// with x and out [lines, size], weight [size], all of one dtype.
class NormOperator {
 public:
  // Loads the library into this process, for good, and takes the first of `names` that it registers. Throws Error: it needs
  // what this process has not, it cannot be loaded, it has no such operator, the operator is of another form or not for the
  // CPU.
  static NormOperator load(const OperatorBuild& build, const std::vector<std::string>& names);

  const std::string& name() const { return name_; }
  // Throws Error for what the operator throws, and for a result that is not like x.
  at::Tensor operator()(const at::Tensor& x, const at::Tensor& weight, double eps) const;

 private:
  NormOperator(std::string where, c10::OperatorHandle handle);

  std::string where_, name_;
  c10::OperatorHandle operator_;
  bool writes_out_ = false;  // the second form
};

}  // namespace tp
