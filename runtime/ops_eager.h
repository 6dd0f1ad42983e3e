#pragma once

#include <vector>

#include "runtime/collectives.h"
#include "runtime/eager_attention.h"
#include "runtime/eager_matmul.h"
#include "runtime/eager_tensor.h"
#include "runtime/ops.h"
#include "runtime/weights.h"

namespace tp {

// ops.h executed on CPU with ATen and the collectives of a communicator.
class EagerOps : public Ops {
 public:
  // The arguments must outlive it. `cache` holds one entry per layer.
  EagerOps(const ModelConfig& config, const ParameterTable& table, const Weights& weights, std::vector<LayerCache> cache,
           Communicator& communicator);

  // Every op until the next call works on this batch.
  void begin(const Batch& batch);

  Value embedding(ParamId table, bool vocab_sharded) override;
  Value linear(const Value& x, ParamId weight, ParamId bias, bool float32_out) override;
  Value linear_partial(const Value& x, ParamId weight) override;
  Value norm(const Value& x, ParamId weight, ParamId bias, NormKind kind, double eps, int64_t group) override;
  Value rope(const Value& x, int table, int64_t heads_local, int64_t head_dim) override;
  Value attention(const Value& q, const Value& k, const Value& v, const AttentionSpec& spec) override;
  Value gated_activation(const Value& gate, const Value& up, Activation activation) override;
  Value activation(const Value& x, Activation activation) override;
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
  const at::Tensor& weight(ParamId id) const { return weights_[static_cast<size_t>(id)]; }
  // The parameter in float32; undefined when absent.
  at::Tensor floats(ParamId id);
  // float32 -> the model's dtype.
  Value rounded(const at::Tensor& value) const;

  const ModelConfig& config_;
  const ParameterTable& table_;
  Communicator& communicator_;
  at::ScalarType dtype_;
  std::vector<at::Tensor> weights_;  // by ParamId, over the memory of Weights
  std::vector<at::Tensor> floats_;   // by ParamId: float32 copies of norms, biases and other small ones, made at first use
  std::vector<LayerCache> cache_;
  EagerMatmul matmul_;

  Batch batch_;
  struct Rotation {
    at::Tensor cos, sin;  // [B * T, rotary_dim / 2]
  };
  std::vector<Rotation> rotations_;  // by rope table
};

}  // namespace tp
