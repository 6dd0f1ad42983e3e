#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/engine.h"
#include "runtime/ops.h"
#include "runtime/parameter_table.h"

namespace tp {

// The model, written once over ops.h: every form that ModelConfig can describe, and for each module the collective that its
// style in the plan needs. It never reads a tensor's value, so it can be executed or traced.
class Decoder {
 public:
  // The arguments must have passed the plan check and must outlive the decoder. `dtype` is the model's.
  Decoder(const ModelConfig& config, const ParameterTable& table, DType dtype);

  // One call of the forward contract (design.md). Float32 logits, whole on every rank: [B, 1, vocab] or [B, T, vocab].
  Value forward(Ops& ops, LogitsWanted wanted) const;

  // As forward with kLast, but where the head is split over the ranks each one keeps its own part: row 0 of it is the token
  // rank * features, and what lies beyond the vocabulary is padding.
  Value last_logits_local(Ops& ops) const;
  bool head_is_split() const { return lm_head_.style == Style::kColwiseGatherOutput; }

  // What each layer's attention needs of the cache; the same on every rank.
  std::vector<AttentionSpec> attention_specs() const;

 private:
  // A linear and its layout.
  struct Linear {
    ParamId weight = kNoParam, bias = kNoParam;
    Style style = Style::kReplicated;
    int64_t features = 0;     // out features of the result on this rank
    int64_t input_local = 0;  // in features that this rank's weight takes
  };
  struct Norm {
    ParamId weight = kNoParam, bias = kNoParam;
    bool present = false;
  };
  struct Layer {
    Norm pre_attention, post_attention, pre_mlp, post_mlp, q_norm, k_norm;
    Linear q, k, v, qkv, attention_gate, o, gate, up, gate_up, down;
    ParamId xielu_positive = kNoParam, xielu_negative = kNoParam;
    Norm q_a_norm, kv_a_norm;
    Linear q_a, q_b, kv_a, kv_b;  // multi-head latent attention
    std::optional<MoeSpec> moe;
    Linear shared_gate, shared_up, shared_gate_up, shared_down, shared_expert_gate;
    AttentionSpec attention;
    int rope = -1, query_rope = -1;
  };

  Linear linear(Role role, int layer) const;
  Norm norm(Role role, int layer) const;
  Layer layer(int index) const;
  AttentionSpec attention_spec(const Layer& layer, int index) const;
  MoeSpec moe_spec(int index) const;

  Value apply(Ops& ops, const Linear& linear, const Value& x) const;
  // Several linears of one input, as one where no collective comes between.
  std::vector<Value> apply_all(Ops& ops, const std::vector<Linear>& linears, const Value& x) const;
  Value apply(Ops& ops, const Norm& norm, const Value& x, int64_t group = 0) const;
  Value embed(Ops& ops) const;
  Value attention(Ops& ops, const Layer& layer, const Value& x) const;
  Value latent_norm(Ops& ops, const Norm& norm, const Value& x) const;
  Value latent_attention(Ops& ops, const Layer& layer, const Value& x) const;
  Value experts(Ops& ops, const Layer& layer, const Value& x) const;
  Value gated(Ops& ops, const Linear& gate, const Linear& up, const Value& x) const;
  Value gated(Ops& ops, const Linear& gate_up, const Value& x) const;
  Value shared_expert(Ops& ops, const Layer& layer, const Value& x) const;
  Value mlp(Ops& ops, const Layer& layer, const Value& x) const;
  Value block(Ops& ops, const Layer& layer, const Value& x) const;
  Value hidden(Ops& ops, LogitsWanted wanted) const;
  Value logits(Ops& ops, const Value& x, bool whole) const;

  const ModelConfig& config_;
  const ParameterTable& table_;
  double embedding_scale_ = 1.0;
  std::vector<Layer> layers_;
  Norm final_norm_;
  Linear lm_head_;
};

}  // namespace tp
