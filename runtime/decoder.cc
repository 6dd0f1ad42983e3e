#include "runtime/decoder.h"

#include "runtime/float_convert.h"
#include "runtime/linear_weights.h"

namespace tp {
namespace {

// Of the norms inside latent attention: the reference (DeepseekV2RMSNorm, DeepseekV3RMSNorm) gives them no eps of the config.
constexpr double kLatentNormEps = 1e-6;

}  // namespace

Decoder::Decoder(const ModelConfig& config, const ParameterTable& table, DType dtype) : config_(config), table_(table) {
  embedding_scale_ = config.embedding_scale;
  if (config.embedding_scale_rounded) embedding_scale_ = rounded_to(dtype, static_cast<float>(config.embedding_scale));
  for (int index = 0; index < config.num_layers(); ++index) layers_.push_back(layer(index));
  final_norm_ = norm(Role::kFinalNorm, -1);
  lm_head_ = linear(Role::kLmHead, -1);
}

Decoder::Linear Decoder::linear(Role role, int layer) const {
  const PlannedModule* planned = table_.module(role, layer);
  if (planned == nullptr) return {};
  Linear result{table_.weight(role, layer), table_.bias(role, layer), planned->style};
  const Parameter& weight = table_.at(result.weight);
  // Only a column split without a gather leaves the result in parts.
  const bool whole =
      planned->style != Style::kColwise && planned->style != Style::kPackedColwise && planned->style != Style::kKvReplicated;
  result.features = whole ? weight.stored_shape[0] : weight.shape()[0];
  result.input_local = weight.shape()[1];
  return result;
}

Decoder::Norm Decoder::norm(Role role, int layer) const {
  return {table_.weight(role, layer), table_.bias(role, layer), table_.module(role, layer) != nullptr};
}

Decoder::Layer Decoder::layer(int index) const {
  Layer layer;
  layer.pre_attention = norm(Role::kPreAttentionNorm, index);
  layer.post_attention = norm(Role::kPostAttentionNorm, index);
  layer.pre_mlp = norm(Role::kPreMlpNorm, index);
  layer.post_mlp = norm(Role::kPostMlpNorm, index);
  layer.q_norm = norm(Role::kQNorm, index);
  layer.k_norm = norm(Role::kKNorm, index);
  layer.q = linear(Role::kQ, index);
  layer.k = linear(Role::kK, index);
  layer.v = linear(Role::kV, index);
  layer.qkv = linear(Role::kQkv, index);
  layer.attention_gate = linear(Role::kAttentionGate, index);
  layer.o = linear(Role::kO, index);
  layer.gate = linear(Role::kGate, index);
  layer.up = linear(Role::kUp, index);
  layer.gate_up = linear(Role::kGateUp, index);
  layer.down = linear(Role::kDown, index);
  layer.xielu_positive = table_.weight(Role::kXieluPositive, index);
  layer.xielu_negative = table_.weight(Role::kXieluNegative, index);

  layer.q_a = linear(Role::kQA, index);
  layer.q_a_norm = norm(Role::kQANorm, index);
  layer.q_b = linear(Role::kQB, index);
  layer.kv_a = linear(Role::kKvA, index);
  layer.kv_a_norm = norm(Role::kKvANorm, index);
  layer.kv_b = linear(Role::kKvB, index);
  layer.shared_gate = linear(Role::kSharedGate, index);
  layer.shared_up = linear(Role::kSharedUp, index);
  layer.shared_gate_up = linear(Role::kSharedGateUp, index);
  layer.shared_down = linear(Role::kSharedDown, index);
  layer.shared_expert_gate = linear(Role::kSharedExpertGate, index);

  const LayerConfig& config = config_.layers[static_cast<size_t>(index)];
  layer.rope = config.rope;
  layer.query_rope = config.query_rope;
  layer.attention = attention_spec(layer, index);
  if (config.moe) layer.moe = moe_spec(index);
  return layer;
}

AttentionSpec Decoder::attention_spec(const Layer& layer, int index) const {
  AttentionSpec spec;
  spec.layer = index;
  spec.head_dim = spec.v_head_dim = config_.head_dim;
  if (config_.mla) {
    const Linear& q = config_.mla->q_lora_rank > 0 ? layer.q_b : layer.q;
    spec.v_head_dim = config_.mla->v_head_dim;
    spec.heads_local = spec.kv_heads_local = q.features / spec.head_dim;
  } else if (config_.qkv_groups > 0) {
    spec.heads_local = spec.kv_heads_local = layer.qkv.features / (3 * spec.head_dim);
  } else if (config_.fused_qkv) {
    const PlannedModule* qkv = table_.module(Role::kQkv, index);
    const std::vector<int64_t> features = part_features_local(qkv->module, qkv->style, table_.tp_size());
    spec.heads_local = features[0] / spec.head_dim;
    spec.kv_heads_local = features[1] / spec.head_dim;
  } else {
    spec.heads_local = layer.q.features / spec.head_dim;
    spec.kv_heads_local = layer.k.features / spec.head_dim;
  }
  spec.sinks = table_.weight(Role::kSinks, index);
  spec.scale = config_.attention_scale;
  spec.softcap = config_.attention_softcap;
  spec.window = config_.layers[static_cast<size_t>(index)].window;
  spec.chunked = config_.layers[static_cast<size_t>(index)].chunked;
  return spec;
}

MoeSpec Decoder::moe_spec(int index) const {
  MoeSpec spec;
  spec.config = &*config_.moe;
  spec.activation = config_.activation;
  spec.router = table_.weight(Role::kRouter, index);
  spec.router_bias = table_.bias(Role::kRouter, index);
  spec.correction_bias = table_.weight(Role::kCorrectionBias, index);
  spec.gate_up = table_.weight(Role::kExpertsGateUp, index);
  spec.gate_up_bias = table_.weight(Role::kExpertsGateUpBias, index);
  spec.down = table_.weight(Role::kExpertsDown, index);
  spec.down_bias = table_.weight(Role::kExpertsDownBias, index);
  switch (table_.module(Role::kExpertsDown, index)->style) {
    case Style::kRowwise:
    case Style::kColwise:  // of a transposed weight
      spec.split = MoeSpec::Split::kFeatures;
      break;
    case Style::kGroupedGemm:
      spec.split = MoeSpec::Split::kExperts;
      break;
    default:
      break;
  }
  return spec;
}

std::vector<AttentionSpec> Decoder::attention_specs() const {
  std::vector<AttentionSpec> specs;
  for (const Layer& layer : layers_) specs.push_back(layer.attention);
  return specs;
}

Value Decoder::apply(Ops& ops, const Linear& linear, const Value& x) const {
  switch (linear.style) {
    case Style::kRowwise:
      return ops.all_reduce(ops.linear_partial(x, linear.weight), linear.bias);
    case Style::kRowwiseSplitInput:
      return ops.all_reduce(ops.linear_partial(ops.local_part(x, linear.input_local), linear.weight), linear.bias);
    case Style::kColwiseGatherOutput:
      return ops.all_gather(ops.linear(x, linear.weight, linear.bias), linear.features);
    default:
      return ops.linear(x, linear.weight, linear.bias);
  }
}

std::vector<Value> Decoder::apply_all(Ops& ops, const std::vector<Linear>& linears, const Value& x) const {
  std::vector<LinearParams> params;
  std::vector<Value> values;
  for (const Linear& one : linears)
    if (needs_no_collective(one.style)) params.push_back({one.weight, one.bias});
  if (params.size() == linears.size()) return ops.linears(x, params);
  for (const Linear& one : linears) values.push_back(apply(ops, one, x));
  return values;
}

Value Decoder::apply(Ops& ops, const Norm& norm, const Value& x, int64_t group) const {
  if (!norm.present) return x;
  return ops.norm(x, norm.weight, norm.bias, config_.norm, config_.norm_eps, group);
}

Value Decoder::embed(Ops& ops) const {
  const PlannedModule* planned = table_.module(Role::kEmbedding, -1);
  const ParamId weight = table_.weight(Role::kEmbedding, -1);
  Value x = ops.embedding(weight, planned->style == Style::kEmbeddingRowwise);
  if (planned->style == Style::kEmbeddingRowwise) x = ops.all_reduce(x, kNoParam);
  if (planned->style == Style::kEmbeddingColwise) x = ops.all_gather(x, config_.hidden_size);
  if (embedding_scale_ != 1.0) x = ops.scale(x, embedding_scale_);
  return config_.embedding_norm ? apply(ops, final_norm_, x) : x;
}

Value Decoder::latent_norm(Ops& ops, const Norm& norm, const Value& x) const {
  return ops.norm(x, norm.weight, norm.bias, NormKind::kRms, kLatentNormEps, 0);
}

Value Decoder::latent_attention(Ops& ops, const Layer& layer, const Value& x) const {
  const MlaConfig& mla = *config_.mla;
  const AttentionSpec& spec = layer.attention;
  const int64_t heads = spec.heads_local, nope = mla.qk_nope_head_dim, turned = mla.qk_rope_head_dim;
  const Value q = mla.q_lora_rank > 0 ? apply(ops, layer.q_b, latent_norm(ops, layer.q_a_norm, apply(ops, layer.q_a, x)))
                                      : apply(ops, layer.q, x);
  const Value kv_a = apply(ops, layer.kv_a, x);
  const Value latent = latent_norm(ops, layer.kv_a_norm, ops.slice_features(kv_a, 0, mla.kv_lora_rank));
  const Value kv = apply(ops, layer.kv_b, latent);
  Value q_turned = ops.slice_heads(q, heads, nope, turned);
  Value k_turned = ops.slice_features(kv_a, mla.kv_lora_rank, turned);  // one head for all
  if (layer.rope >= 0) {
    q_turned = ops.rope(q_turned, layer.rope, heads, turned);
    k_turned = ops.rope(k_turned, layer.rope, 1, turned);
  }
  const Value whole_q = ops.concat_heads(ops.slice_heads(q, heads, 0, nope), q_turned, heads, /*shared=*/false);
  const Value whole_k = ops.concat_heads(ops.slice_heads(kv, heads, 0, nope), k_turned, heads, /*shared=*/true);
  const Value v = ops.slice_heads(kv, heads, nope, mla.v_head_dim);
  return apply(ops, layer.o, ops.attention(whole_q, whole_k, v, spec));
}

Value Decoder::attention(Ops& ops, const Layer& layer, const Value& x) const {
  if (config_.mla) return latent_attention(ops, layer, x);
  const AttentionSpec& spec = layer.attention;
  const int64_t q_size = spec.heads_local * spec.head_dim, kv_size = spec.kv_heads_local * spec.head_dim;
  Value q, k, v;
  if (config_.qkv_groups > 0) {
    const Value qkv = apply(ops, layer.qkv, x);
    const int64_t size = config_.num_heads / config_.qkv_groups * spec.head_dim, groups = q_size / size;
    q = ops.slice_heads(qkv, groups, 0, size);
    k = ops.slice_heads(qkv, groups, config_.qkv_value_second ? 2 * size : size, size);
    v = ops.slice_heads(qkv, groups, config_.qkv_value_second ? size : 2 * size, size);
  } else if (config_.fused_qkv) {
    const Value qkv = apply(ops, layer.qkv, x);
    q = ops.slice_features(qkv, 0, q_size);
    k = ops.slice_features(qkv, q_size, kv_size);
    v = ops.slice_features(qkv, q_size + kv_size, kv_size);
  } else {
    const std::vector<Value> qkv = apply_all(ops, {layer.q, layer.k, layer.v}, x);
    q = qkv[0], k = qkv[1], v = qkv[2];
  }
  const int64_t group = config_.qk_norm == QkNorm::kFullProjection ? 0 : spec.head_dim;
  const auto normalize = [&] {
    q = apply(ops, layer.q_norm, q, group);
    k = apply(ops, layer.k_norm, k, group);
  };
  if (!config_.qk_norm_after_rope) normalize();
  if (config_.qkv_clip != 0.0)
    for (Value* value : {&q, &k, &v}) *value = ops.clamp(*value, -config_.qkv_clip, config_.qkv_clip);
  if (layer.query_rope >= 0) q = ops.rope(q, layer.query_rope, spec.heads_local, spec.head_dim);
  if (layer.rope >= 0) k = ops.rope(k, layer.rope, spec.kv_heads_local, spec.head_dim);
  if (config_.qk_norm_after_rope) normalize();
  Value mixed = ops.attention(q, k, v, spec);
  if (config_.attention_gate) mixed = ops.gated_activation(apply(ops, layer.attention_gate, x), mixed, Activation::kSigmoid);
  return apply(ops, layer.o, mixed);
}

Value Decoder::experts(Ops& ops, const Layer& layer, const Value& x) const {
  Value routed = ops.moe(x, *layer.moe);
  if (layer.moe->split != MoeSpec::Split::kNone) routed = ops.all_reduce(routed, kNoParam);
  if (layer.shared_down.weight == kNoParam) return routed;
  const Value sum = ops.add(routed, shared_expert(ops, layer, x));
  return config_.moe->averages_shared ? ops.scale(sum, 0.5) : sum;
}

Value Decoder::shared_expert(Ops& ops, const Layer& layer, const Value& x) const {
  const bool fused = layer.shared_gate_up.weight != kNoParam;
  const Value inner = fused ? gated(ops, layer.shared_gate_up, x) : gated(ops, layer.shared_gate, layer.shared_up, x);
  const Value shared = apply(ops, layer.shared_down, inner);
  if (layer.shared_expert_gate.weight == kNoParam) return shared;
  return ops.sigmoid_gate(shared, ops.linear(x, layer.shared_expert_gate.weight, layer.shared_expert_gate.bias, true));
}

Value Decoder::gated(Ops& ops, const Linear& gate_up, const Value& x) const {
  const Value both = apply(ops, gate_up, x);
  const int64_t half = gate_up.features / 2;
  return ops.gated_activation(ops.slice_features(both, 0, half), ops.slice_features(both, half, half), config_.activation);
}

Value Decoder::gated(Ops& ops, const Linear& gate, const Linear& up, const Value& x) const {
  const std::vector<Value> both = apply_all(ops, {gate, up}, x);
  return ops.gated_activation(both[0], both[1], config_.activation);
}

Value Decoder::mlp(Ops& ops, const Layer& layer, const Value& x) const {
  if (layer.moe) return experts(ops, layer, x);
  Value inner;
  switch (config_.mlp) {
    case MlpForm::kGated:
      inner = gated(ops, layer.gate, layer.up, x);
      break;
    case MlpForm::kGatedFused:
      inner = gated(ops, layer.gate_up, x);
      break;
    case MlpForm::kPlain:
      inner = apply(ops, layer.up, x);
      inner = config_.xielu ? ops.xielu(inner, layer.xielu_positive, layer.xielu_negative)
                            : ops.activation(inner, config_.activation);
      break;
  }
  return apply(ops, layer.down, inner);
}

Value Decoder::block(Ops& ops, const Layer& layer, const Value& x) const {
  const auto scaled = [&](const Value& value) {
    return config_.residual_scale == 1.0 ? value : ops.scale(value, config_.residual_scale);
  };
  const Value normed = apply(ops, layer.pre_attention, x);
  const Value attended = scaled(apply(ops, layer.post_attention, attention(ops, layer, normed)));
  if (config_.parallel_block) {
    // The MLP reads a norm of its own where the family has one, else the one that attention read.
    const Value mlp_input = layer.pre_mlp.present ? apply(ops, layer.pre_mlp, x) : normed;
    const Value mixed = scaled(apply(ops, layer.post_mlp, mlp(ops, layer, mlp_input)));
    return ops.add(ops.add(x, attended), mixed);
  }
  const Value middle = ops.add(x, attended);
  const Value mixed = mlp(ops, layer, apply(ops, layer.pre_mlp, middle));
  return ops.add(middle, scaled(apply(ops, layer.post_mlp, mixed)));
}

Value Decoder::logits(Ops& ops, const Value& x, bool whole) const {
  Value y = ops.linear(x, lm_head_.weight, lm_head_.bias, /*float32_out=*/true);
  if (whole && head_is_split()) y = ops.all_gather(y, config_.vocab_size);
  if (config_.logits_scale != 1.0) y = ops.scale(y, config_.logits_scale);
  if (config_.logits_softcap != 0.0) y = ops.softcap(y, config_.logits_softcap);
  return y;
}

Value Decoder::hidden(Ops& ops, LogitsWanted wanted) const {
  Value x = embed(ops);
  for (const Layer& layer : layers_) x = block(ops, layer, x);
  if (wanted == LogitsWanted::kLast) x = ops.last_position(x);
  return apply(ops, final_norm_, x);
}

Value Decoder::forward(Ops& ops, LogitsWanted wanted) const {
  return logits(ops, hidden(ops, wanted), /*whole=*/true);
}

Value Decoder::last_logits_local(Ops& ops) const {
  return logits(ops, hidden(ops, LogitsWanted::kLast), /*whole=*/false);
}

}  // namespace tp
