#pragma once

#include "runtime/relayed_ops.h"
#include "runtime/timeline.h"

namespace tp {

// Ops that record how long each call of the ones below takes.
class TracedOps : public RelayedOps {
 public:
  // Both must outlive it.
  TracedOps(Ops& ops, Timeline& timeline) : ops_(ops), timeline_(timeline) {}

  std::vector<Value> linears(const Value& x, const std::vector<LinearParams>& params) override;

 private:
  Value relay(const char* name, std::initializer_list<Value> operands, const Operation& operation) override;

  Ops& ops_;
  Timeline& timeline_;
};

}  // namespace tp
