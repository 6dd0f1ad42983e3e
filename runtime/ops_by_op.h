#pragma once

#include "runtime/program_runner.h"
#include "runtime/relayed_ops.h"
#include "runtime/stablehlo_program.h"

namespace tp {

// The model's vocabulary (ops.h), each operation a program of its own that runs at once on the devices of this process
// (--disable-compile on chips): the same text as in a whole program, but every value in between exists and an error comes from
// the operation that has it.
class OpByOp : public RelayedOps {
 public:
  // The references must outlive this.
  OpByOp(const TraceSource& source, ProgramRunner& runner) : source_(source), runner_(runner) {}

  // Starts a call; `batch` must outlive it.
  void begin(const HloShape& shape, const Batch& batch);
  // The buffers of a value that an operation returned, and its type.
  static const DeviceBuffers& buffers(const Value& value);
  static const HloType& type(const Value& value);

 private:
  // Traces the operation on stand-ins for the operands as the program `name` and runs it.
  Value relay(const char* name, std::initializer_list<Value> operands, const Operation& operation) override;

  const TraceSource& source_;
  ProgramRunner& runner_;
  HloShape shape_;
  const Batch* batch_ = nullptr;
};

}  // namespace tp
