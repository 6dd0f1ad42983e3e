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

using Operands = const std::vector<Value>&;

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

Value OpByOp::run(const char* name, std::initializer_list<Value> operands, const Operation& operation) {
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

Value OpByOp::embedding(ParamId table, bool vocab_sharded) {
  return run("embedding", {}, [&](Ops& ops, Operands) { return ops.embedding(table, vocab_sharded); });
}
Value OpByOp::linear(const Value& x, ParamId weight, ParamId bias, bool float32_out) {
  return run("linear", {x}, [&](Ops& ops, Operands in) { return ops.linear(in[0], weight, bias, float32_out); });
}
Value OpByOp::linear_partial(const Value& x, ParamId weight) {
  return run("linear_partial", {x}, [&](Ops& ops, Operands in) { return ops.linear_partial(in[0], weight); });
}
Value OpByOp::norm(const Value& x, ParamId weight, ParamId bias, NormKind kind, double eps, int64_t group) {
  return run("norm", {x}, [&](Ops& ops, Operands in) { return ops.norm(in[0], weight, bias, kind, eps, group); });
}
Value OpByOp::rope(const Value& x, int table, int64_t heads_local, int64_t head_dim) {
  return run("rope", {x}, [&](Ops& ops, Operands in) { return ops.rope(in[0], table, heads_local, head_dim); });
}
Value OpByOp::attention(const Value& q, const Value& k, const Value& v, const AttentionSpec& spec) {
  return run("attention", {q, k, v}, [&](Ops& ops, Operands in) { return ops.attention(in[0], in[1], in[2], spec); });
}
Value OpByOp::gated_activation(const Value& gate, const Value& up, Activation activation) {
  return run("gated_activation", {gate, up},
             [&](Ops& ops, Operands in) { return ops.gated_activation(in[0], in[1], activation); });
}
Value OpByOp::activation(const Value& x, Activation activation) {
  return run("activation", {x}, [&](Ops& ops, Operands in) { return ops.activation(in[0], activation); });
}
Value OpByOp::xielu(const Value& x, ParamId positive, ParamId negative) {
  return run("xielu", {x}, [&](Ops& ops, Operands in) { return ops.xielu(in[0], positive, negative); });
}
Value OpByOp::sigmoid_gate(const Value& x, const Value& gate) {
  return run("sigmoid_gate", {x, gate}, [&](Ops& ops, Operands in) { return ops.sigmoid_gate(in[0], in[1]); });
}
Value OpByOp::moe(const Value& x, const MoeSpec& spec) {
  return run("moe", {x}, [&](Ops& ops, Operands in) { return ops.moe(in[0], spec); });
}
Value OpByOp::add(const Value& a, const Value& b) {
  return run("add", {a, b}, [&](Ops& ops, Operands in) { return ops.add(in[0], in[1]); });
}
Value OpByOp::scale(const Value& x, double factor) {
  return run("scale", {x}, [&](Ops& ops, Operands in) { return ops.scale(in[0], factor); });
}
Value OpByOp::softcap(const Value& x, double cap) {
  return run("softcap", {x}, [&](Ops& ops, Operands in) { return ops.softcap(in[0], cap); });
}
Value OpByOp::clamp(const Value& x, double low, double high) {
  return run("clamp", {x}, [&](Ops& ops, Operands in) { return ops.clamp(in[0], low, high); });
}
Value OpByOp::slice_features(const Value& x, int64_t begin, int64_t size) {
  return run("slice_features", {x}, [&](Ops& ops, Operands in) { return ops.slice_features(in[0], begin, size); });
}
Value OpByOp::slice_heads(const Value& x, int64_t heads, int64_t begin, int64_t size) {
  return run("slice_heads", {x}, [&](Ops& ops, Operands in) { return ops.slice_heads(in[0], heads, begin, size); });
}
Value OpByOp::concat_heads(const Value& a, const Value& b, int64_t heads, bool shared) {
  return run("concat_heads", {a, b}, [&](Ops& ops, Operands in) { return ops.concat_heads(in[0], in[1], heads, shared); });
}
Value OpByOp::last_position(const Value& x) {
  return run("last_position", {x}, [&](Ops& ops, Operands in) { return ops.last_position(in[0]); });
}
Value OpByOp::all_reduce(const Value& partial, ParamId bias) {
  return run("all_reduce", {partial}, [&](Ops& ops, Operands in) { return ops.all_reduce(in[0], bias); });
}
Value OpByOp::all_gather(const Value& x, int64_t features) {
  return run("all_gather", {x}, [&](Ops& ops, Operands in) { return ops.all_gather(in[0], features); });
}
Value OpByOp::local_part(const Value& x, int64_t features_local) {
  return run("local_part", {x}, [&](Ops& ops, Operands in) { return ops.local_part(in[0], features_local); });
}

}  // namespace tp
