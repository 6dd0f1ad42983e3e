#include "runtime/decoder.h"

#include "runtime/float_convert.h"

namespace tp {

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
  layer.o = linear(Role::kO, index);
  layer.gate = linear(Role::kGate, index);
  layer.up = linear(Role::kUp, index);
  layer.gate_up = linear(Role::kGateUp, index);
  layer.down = linear(Role::kDown, index);

  const LayerConfig& config = config_.layers[static_cast<size_t>(index)];
  layer.rope = config.rope;
  AttentionSpec& attention = layer.attention;
  attention.layer = index;
  attention.head_dim = attention.v_head_dim = config_.head_dim;
  if (config_.qkv_per_head) {
    attention.heads_local = attention.kv_heads_local = layer.qkv.features / (3 * config_.head_dim);
  } else if (config_.fused_qkv) {
    const PlannedModule* qkv = table_.module(Role::kQkv, index);
    const std::vector<int64_t> features = part_features_local(qkv->module, qkv->style, table_.tp_size());
    attention.heads_local = features[0] / config_.head_dim;
    attention.kv_heads_local = features[1] / config_.head_dim;
  } else {
    attention.heads_local = layer.q.features / config_.head_dim;
    attention.kv_heads_local = layer.k.features / config_.head_dim;
  }
  attention.scale = config_.attention_scale;
  attention.softcap = config_.attention_softcap;
  attention.window = config.window;
  return layer;
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
  return embedding_scale_ == 1.0 ? x : ops.scale(x, embedding_scale_);
}

Value Decoder::attention(Ops& ops, const Layer& layer, const Value& x) const {
  const AttentionSpec& spec = layer.attention;
  const int64_t q_size = spec.heads_local * spec.head_dim, kv_size = spec.kv_heads_local * spec.head_dim;
  Value q, k, v;
  if (config_.qkv_per_head) {
    const Value qkv = apply(ops, layer.qkv, x);
    q = ops.slice_heads(qkv, spec.heads_local, 0, spec.head_dim);
    k = ops.slice_heads(qkv, spec.heads_local, spec.head_dim, spec.head_dim);
    v = ops.slice_heads(qkv, spec.heads_local, 2 * spec.head_dim, spec.head_dim);
  } else if (config_.fused_qkv) {
    const Value qkv = apply(ops, layer.qkv, x);
    q = ops.slice_features(qkv, 0, q_size);
    k = ops.slice_features(qkv, q_size, kv_size);
    v = ops.slice_features(qkv, q_size + kv_size, kv_size);
  } else {
    q = apply(ops, layer.q, x);
    k = apply(ops, layer.k, x);
    v = apply(ops, layer.v, x);
  }
  if (config_.qkv_clip != 0.0)
    for (Value* value : {&q, &k, &v}) *value = ops.clamp(*value, -config_.qkv_clip, config_.qkv_clip);
  const int64_t group = config_.qk_norm == QkNorm::kFullProjection ? 0 : spec.head_dim;
  const auto normalize = [&] {
    q = apply(ops, layer.q_norm, q, group);
    k = apply(ops, layer.k_norm, k, group);
  };
  if (!config_.qk_norm_after_rope) normalize();
  if (layer.rope >= 0) {
    q = ops.rope(q, layer.rope, spec.heads_local, spec.head_dim);
    k = ops.rope(k, layer.rope, spec.kv_heads_local, spec.head_dim);
  }
  if (config_.qk_norm_after_rope) normalize();
  return apply(ops, layer.o, ops.attention(q, k, v, spec));
}

Value Decoder::mlp(Ops& ops, const Layer& layer, const Value& x) const {
  Value inner;
  switch (config_.mlp) {
    case MlpForm::kGated:
      inner = ops.gated_activation(apply(ops, layer.gate, x), apply(ops, layer.up, x), config_.activation);
      break;
    case MlpForm::kGatedFused: {
      const Value gate_up = apply(ops, layer.gate_up, x);
      const int64_t half = layer.gate_up.features / 2;
      inner = ops.gated_activation(ops.slice_features(gate_up, 0, half), ops.slice_features(gate_up, half, half),
                                   config_.activation);
      break;
    }
    case MlpForm::kPlain:
      inner = ops.activation(apply(ops, layer.up, x), config_.activation);
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

Value Decoder::logits(Ops& ops, const Value& x) const {
  Value y = ops.linear(x, lm_head_.weight, lm_head_.bias, /*float32_out=*/true);
  if (lm_head_.style == Style::kColwiseGatherOutput) y = ops.all_gather(y, config_.vocab_size);
  if (config_.logits_scale != 1.0) y = ops.scale(y, config_.logits_scale);
  if (config_.logits_softcap != 0.0) y = ops.softcap(y, config_.logits_softcap);
  return y;
}

Value Decoder::forward(Ops& ops, LogitsWanted wanted) const {
  Value x = embed(ops);
  for (const Layer& layer : layers_) x = block(ops, layer, x);
  if (wanted == LogitsWanted::kLast) x = ops.last_position(x);
  return logits(ops, apply(ops, final_norm_, x));
}

}  // namespace tp
