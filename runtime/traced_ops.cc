#include "runtime/traced_ops.h"

namespace tp {

Value TracedOps::embedding(ParamId table, bool vocab_sharded) {
  return timed("embedding", [&] { return ops_.embedding(table, vocab_sharded); });
}

Value TracedOps::linear(const Value& x, ParamId weight, ParamId bias, bool float32_out) {
  return timed("linear", [&] { return ops_.linear(x, weight, bias, float32_out); });
}

std::vector<Value> TracedOps::linears(const Value& x, const std::vector<LinearParams>& params) {
  return timed("linears", [&] { return ops_.linears(x, params); });
}

Value TracedOps::linear_partial(const Value& x, ParamId weight) {
  return timed("linear_partial", [&] { return ops_.linear_partial(x, weight); });
}

Value TracedOps::norm(const Value& x, ParamId weight, ParamId bias, NormKind kind, double eps, int64_t group) {
  return timed("norm", [&] { return ops_.norm(x, weight, bias, kind, eps, group); });
}

Value TracedOps::rope(const Value& x, int table, int64_t heads_local, int64_t head_dim) {
  return timed("rope", [&] { return ops_.rope(x, table, heads_local, head_dim); });
}

Value TracedOps::attention(const Value& q, const Value& k, const Value& v, const AttentionSpec& spec) {
  return timed("attention", [&] { return ops_.attention(q, k, v, spec); });
}

Value TracedOps::gated_activation(const Value& gate, const Value& up, Activation activation) {
  return timed("gated_activation", [&] { return ops_.gated_activation(gate, up, activation); });
}

Value TracedOps::activation(const Value& x, Activation activation) {
  return timed("activation", [&] { return ops_.activation(x, activation); });
}

Value TracedOps::xielu(const Value& x, ParamId positive, ParamId negative) {
  return timed("xielu", [&] { return ops_.xielu(x, positive, negative); });
}

Value TracedOps::sigmoid_gate(const Value& x, const Value& gate) {
  return timed("sigmoid_gate", [&] { return ops_.sigmoid_gate(x, gate); });
}

Value TracedOps::moe(const Value& x, const MoeSpec& spec) {
  return timed("moe", [&] { return ops_.moe(x, spec); });
}

Value TracedOps::add(const Value& a, const Value& b) {
  return timed("add", [&] { return ops_.add(a, b); });
}

Value TracedOps::scale(const Value& x, double factor) {
  return timed("scale", [&] { return ops_.scale(x, factor); });
}

Value TracedOps::softcap(const Value& x, double cap) {
  return timed("softcap", [&] { return ops_.softcap(x, cap); });
}

Value TracedOps::clamp(const Value& x, double low, double high) {
  return timed("clamp", [&] { return ops_.clamp(x, low, high); });
}

Value TracedOps::slice_features(const Value& x, int64_t begin, int64_t size) {
  return timed("slice_features", [&] { return ops_.slice_features(x, begin, size); });
}

Value TracedOps::slice_heads(const Value& x, int64_t heads, int64_t begin, int64_t size) {
  return timed("slice_heads", [&] { return ops_.slice_heads(x, heads, begin, size); });
}

Value TracedOps::concat_heads(const Value& a, const Value& b, int64_t heads, bool shared) {
  return timed("concat_heads", [&] { return ops_.concat_heads(a, b, heads, shared); });
}

Value TracedOps::last_position(const Value& x) {
  return timed("last_position", [&] { return ops_.last_position(x); });
}

Value TracedOps::all_reduce(const Value& partial, ParamId bias) {
  return timed("all_reduce", [&] { return ops_.all_reduce(partial, bias); });
}

Value TracedOps::all_gather(const Value& x, int64_t features) {
  return timed("all_gather", [&] { return ops_.all_gather(x, features); });
}

Value TracedOps::local_part(const Value& x, int64_t features_local) {
  return timed("local_part", [&] { return ops_.local_part(x, features_local); });
}

}  // namespace tp
