#include "runtime/traced_ops.h"

namespace tp {

Value TracedOps::relay(const char* name, std::initializer_list<Value> operands, const Operation& operation) {
  const TimedSpan span(&timeline_, name, "op");
  return operation(ops_, operands);
}

std::vector<Value> TracedOps::linears(const Value& x, const std::vector<LinearParams>& params) {
  const TimedSpan span(&timeline_, "linears", "op");
  return ops_.linears(x, params);
}

}  // namespace tp
