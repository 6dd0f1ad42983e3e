#include "runtime/relayed_ops.h"

namespace tp {
namespace {

using Operands = const std::vector<Value>&;

}  // namespace

Value RelayedOps::embedding(ParamId table, bool vocab_sharded) {
  return relay("embedding", {}, [&](Ops& ops, Operands) { return ops.embedding(table, vocab_sharded); });
}
Value RelayedOps::linear(const Value& x, ParamId weight, ParamId bias, bool float32_out) {
  return relay("linear", {x}, [&](Ops& ops, Operands in) { return ops.linear(in[0], weight, bias, float32_out); });
}
Value RelayedOps::linear_partial(const Value& x, ParamId weight) {
  return relay("linear_partial", {x}, [&](Ops& ops, Operands in) { return ops.linear_partial(in[0], weight); });
}
Value RelayedOps::norm(const Value& x, ParamId weight, ParamId bias, NormKind kind, double eps, int64_t group) {
  return relay("norm", {x}, [&](Ops& ops, Operands in) { return ops.norm(in[0], weight, bias, kind, eps, group); });
}
Value RelayedOps::rope(const Value& x, int table, int64_t heads_local, int64_t head_dim) {
  return relay("rope", {x}, [&](Ops& ops, Operands in) { return ops.rope(in[0], table, heads_local, head_dim); });
}
Value RelayedOps::attention(const Value& q, const Value& k, const Value& v, const AttentionSpec& spec) {
  return relay("attention", {q, k, v}, [&](Ops& ops, Operands in) { return ops.attention(in[0], in[1], in[2], spec); });
}
Value RelayedOps::gated_activation(const Value& gate, const Value& up, Activation activation) {
  return relay("gated_activation", {gate, up},
               [&](Ops& ops, Operands in) { return ops.gated_activation(in[0], in[1], activation); });
}
Value RelayedOps::activation(const Value& x, Activation activation) {
  return relay("activation", {x}, [&](Ops& ops, Operands in) { return ops.activation(in[0], activation); });
}
Value RelayedOps::xielu(const Value& x, ParamId positive, ParamId negative) {
  return relay("xielu", {x}, [&](Ops& ops, Operands in) { return ops.xielu(in[0], positive, negative); });
}
Value RelayedOps::sigmoid_gate(const Value& x, const Value& gate) {
  return relay("sigmoid_gate", {x, gate}, [&](Ops& ops, Operands in) { return ops.sigmoid_gate(in[0], in[1]); });
}
Value RelayedOps::moe(const Value& x, const MoeSpec& spec) {
  return relay("moe", {x}, [&](Ops& ops, Operands in) { return ops.moe(in[0], spec); });
}
Value RelayedOps::add(const Value& a, const Value& b) {
  return relay("add", {a, b}, [&](Ops& ops, Operands in) { return ops.add(in[0], in[1]); });
}
Value RelayedOps::scale(const Value& x, double factor) {
  return relay("scale", {x}, [&](Ops& ops, Operands in) { return ops.scale(in[0], factor); });
}
Value RelayedOps::softcap(const Value& x, double cap) {
  return relay("softcap", {x}, [&](Ops& ops, Operands in) { return ops.softcap(in[0], cap); });
}
Value RelayedOps::clamp(const Value& x, double low, double high) {
  return relay("clamp", {x}, [&](Ops& ops, Operands in) { return ops.clamp(in[0], low, high); });
}
Value RelayedOps::slice_features(const Value& x, int64_t begin, int64_t size) {
  return relay("slice_features", {x}, [&](Ops& ops, Operands in) { return ops.slice_features(in[0], begin, size); });
}
Value RelayedOps::slice_heads(const Value& x, int64_t heads, int64_t begin, int64_t size) {
  return relay("slice_heads", {x}, [&](Ops& ops, Operands in) { return ops.slice_heads(in[0], heads, begin, size); });
}
Value RelayedOps::concat_heads(const Value& a, const Value& b, int64_t heads, bool shared) {
  return relay("concat_heads", {a, b}, [&](Ops& ops, Operands in) { return ops.concat_heads(in[0], in[1], heads, shared); });
}
Value RelayedOps::last_position(const Value& x) {
  return relay("last_position", {x}, [&](Ops& ops, Operands in) { return ops.last_position(in[0]); });
}
Value RelayedOps::all_reduce(const Value& partial, ParamId bias) {
  return relay("all_reduce", {partial}, [&](Ops& ops, Operands in) { return ops.all_reduce(in[0], bias); });
}
Value RelayedOps::all_gather(const Value& x, int64_t features) {
  return relay("all_gather", {x}, [&](Ops& ops, Operands in) { return ops.all_gather(in[0], features); });
}
Value RelayedOps::local_part(const Value& x, int64_t features_local) {
  return relay("local_part", {x}, [&](Ops& ops, Operands in) { return ops.local_part(in[0], features_local); });
}

}  // namespace tp
