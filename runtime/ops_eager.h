#pragma once

#include <vector>

#include "runtime/collectives.h"
#include "runtime/cpu/attention.h"
#include "runtime/cpu/row_ops.h"
#include "runtime/eager_kernels.h"
#include "runtime/eager_value.h"
#include "runtime/engine.h"
#include "runtime/ops.h"
#include "runtime/rope.h"
#include "runtime/weights.h"

namespace tp {

// ops.h executed on the CPU by the kernels of runtime/cpu and the collectives of a communicator.
class EagerOps : public Ops {
 public:
  // The arguments must outlive it. `weights` are packed, `cache` holds one entry per layer.
  EagerOps(const ModelConfig& config, const ParameterTable& table, const Weights& weights, std::vector<cpu::LayerCache> cache,
           const cpu::Context& context, Communicator& communicator, EagerKernels& kernels);

  // Every op until the next call works on this batch.
  void begin(const Batch& batch);

  Value embedding(ParamId table, bool vocab_sharded) override;
  Value linear(const Value& x, ParamId weight, ParamId bias, bool float32_out) override;
  std::vector<Value> linears(const Value& x, const std::vector<LinearParams>& params) override;
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

 private:
  // The product that computes `params`, which must be all of it. `largest` as PackedLinear::run takes it.
  std::shared_ptr<EagerValue> run(const EagerValue& x, const std::vector<LinearParams>& params, DType dtype,
                                  const float* largest = nullptr);
  // The largest number of each row, of which every rank has a part; nullptr where `product` does not ask for it.
  const float* largest_of_whole_rows(cpu::ConstRows x, int64_t rows, const cpu::PackedLinear& product);
  // A parameter in float32, kept; nullptr for kNoParam.
  const float* floats(ParamId id);
  // The biases of a product's parameters as it takes them; nullptr when there are none.
  const float* bias_of(const std::vector<LinearParams>& params);
  // The rows of a stacked expert bias, one for each local expert, padded as a product takes it.
  std::vector<const float*> expert_biases(ParamId bias, const std::vector<const cpu::PackedLinear*>& products);
  // Uninitialized, in the model's dtype.
  std::shared_ptr<EagerValue> fresh(int64_t lines, int64_t features) const { return empty_value(lines, features, dtype_); }

  const ModelConfig& config_;
  const ParameterTable& table_;
  const Weights& weights_;
  Communicator& communicator_;
  EagerKernels& kernels_;
  cpu::Context context_;
  DType dtype_;
  std::vector<cpu::LayerCache> cache_;
  // By ParamId, made at first use: norms, sinks and the like; biases of products, by their first weight.
  std::vector<std::vector<float>> floats_, product_biases_;
  std::vector<float> largest_;  // of the rows of the last product that took parts of rows

  Batch batch_;
  std::vector<RopeTable> rotations_;  // by rope table
};

}  // namespace tp
