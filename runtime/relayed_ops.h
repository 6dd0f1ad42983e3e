#pragma once

#include <functional>
#include <initializer_list>
#include <vector>

#include "runtime/ops.h"

namespace tp {

// Ops whose every call goes through one function, for what treats all operations alike.
class RelayedOps : public Ops {
 public:
  Value embedding(ParamId table, bool vocab_sharded) override;
  Value linear(const Value& x, ParamId weight, ParamId bias, bool float32_out) override;
  Value linear_partial(const Value& x, ParamId weight) override;
  Value norm(const Value& x, ParamId weight, ParamId bias, NormKind kind, double eps, int64_t group) override;
  Value rope(const Value& x, int table, int64_t heads_local, int64_t head_dim) override;
  Value attention(const Value& q, const Value& k, const Value& v, const AttentionSpec& spec) override;
  Value gated_activation(const Value& gate, const Value& up, Activation activation) override;
  Value activation(const Value& x, Activation activation) override;
  Value xielu(const Value& x, ParamId positive, ParamId negative) override;
  Value sigmoid_gate(const Value& x, const Value& gate) override;
  Value moe(const Value& x, const MoeSpec& spec) override;
  Value add(const Value& a, const Value& b) override;
  Value scale(const Value& x, double factor) override;
  Value softcap(const Value& x, double cap) override;
  Value clamp(const Value& x, double low, double high) override;
  Value slice_features(const Value& x, int64_t begin, int64_t size) override;
  Value slice_heads(const Value& x, int64_t heads, int64_t begin, int64_t size) override;
  Value concat_heads(const Value& a, const Value& b, int64_t heads, bool shared) override;
  Value last_position(const Value& x) override;
  Value all_reduce(const Value& partial, ParamId bias) override;
  Value all_gather(const Value& x, int64_t features) override;
  Value local_part(const Value& x, int64_t features_local) override;

 protected:
  // `operation` repeats the call on any ops, with operands of those ops in the place of `operands`. `name` is a literal.
  using Operation = std::function<Value(Ops& ops, const std::vector<Value>& operands)>;
  virtual Value relay(const char* name, std::initializer_list<Value> operands, const Operation& operation) = 0;
};

}  // namespace tp
