#pragma once

#include <functional>
#include <initializer_list>
#include <string>

#include "runtime/program_runner.h"
#include "runtime/stablehlo_program.h"

namespace tp {

// The model's vocabulary (ops.h), each operation a program of its own that runs at once on the devices of this process
// (--disable-compile on chips): the same text as in a whole program, but every value in between exists and an error comes from
// the operation that has it.
class OpByOp : public Ops {
 public:
  // The references must outlive this.
  OpByOp(const TraceSource& source, ProgramRunner& runner) : source_(source), runner_(runner) {}

  // Starts a call; `batch` must outlive it.
  void begin(const HloShape& shape, const Batch& batch);
  // The buffers of a value that an operation returned, and its type.
  static const DeviceBuffers& buffers(const Value& value);
  static const HloType& type(const Value& value);

  Value embedding(ParamId table, bool vocab_sharded) override;
  Value linear(const Value& x, ParamId weight, ParamId bias, bool float32_out = false) override;
  Value linear_partial(const Value& x, ParamId weight) override;
  Value norm(const Value& x, ParamId weight, ParamId bias, NormKind kind, double eps, int64_t group = 0) override;
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

 private:
  // Traces `operation` on stand-ins for the operands as the program `name` and runs it.
  using Operation = std::function<Value(Ops& ops, const std::vector<Value>& operands)>;
  Value run(const char* name, std::initializer_list<Value> operands, const Operation& operation);

  const TraceSource& source_;
  ProgramRunner& runner_;
  HloShape shape_;
  const Batch* batch_ = nullptr;
};

}  // namespace tp
