#include "runtime/ops_by_op.h"

namespace tp {
namespace {

struct DeviceValue : ValueRep {
  HloType type;
  DeviceBuffers buffers;
};

const DeviceValue& on_device(const Value& value) {
  return static_cast<const DeviceValue&>(*value);
}

}  // namespace

void OpByOp::begin(const HloShape& shape, const Batch& batch) {
  shape_ = shape;
  batch_ = &batch;
}

const DeviceBuffers& OpByOp::buffers(const Value& value) {
  return on_device(value).buffers;
}

const HloType& OpByOp::type(const Value& value) {
  return on_device(value).type;
}

Value OpByOp::relay(const char* name, std::initializer_list<Value> operands, const Operation& operation) {
  StableHloOps trace(source_.config, source_.table, source_.storage, source_.dtype, shape_, source_.tp_size, *source_.kernels);
  std::vector<Value> inputs;
  std::vector<const DeviceBuffers*> values;
  for (const Value& operand : operands) {
    inputs.push_back(trace.input(type(operand)));
    values.push_back(&buffers(operand));
  }
  const Value traced = operation(trace, inputs);
  const HloProgram program = trace.finish(name, traced);
  auto result = std::make_shared<DeviceValue>();
  result->type = program.result;
  result->buffers = runner_.run(program, *batch_, values);
  return result;
}

}  // namespace tp
