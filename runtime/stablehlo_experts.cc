#include <limits>

#include "runtime/ops_stablehlo.h"

// Mixture of experts with static shapes: which experts a position takes is data, so the work must not depend on it.
namespace tp {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// `value` [a, b] repeated along a last dimension.
Hlo over_last(HloBuilder& hlo, const Hlo& value, const HloType& type) {
  std::vector<int64_t> to;
  for (size_t i = 0; i + 1 < type.dims.size(); ++i) to.push_back(static_cast<int64_t>(i));
  return hlo.broadcast(value, to, type.dims);
}

Hlo softmax(HloBuilder& hlo, const Hlo& x) {
  const size_t last = x.type.dims.size() - 1;
  const Hlo largest = over_last(hlo, hlo.reduce("maximum", x, last, kNever), x.type);
  const Hlo powers = hlo.unary("exponential", hlo.binary("subtract", x, largest));
  return hlo.binary("divide", powers, over_last(hlo, hlo.reduce("add", powers, last, 0), x.type));
}

// Index of the largest value of the last dimension, the first of equal ones; the value becomes kNever in `values`.
Hlo take_largest(HloBuilder& hlo, Hlo& values) {
  const size_t last = values.type.dims.size() - 1;
  const HloType indices{DType::kI32, values.type.dims};
  const Hlo index = hlo.iota(indices, static_cast<int64_t>(last));
  const Hlo largest = over_last(hlo, hlo.reduce("maximum", values, last, kNever), values.type);
  const Hlo none = hlo.constant(static_cast<double>(values.dim(last)), indices);
  const Hlo candidates = hlo.select(hlo.compare("GE", values, largest), index, none);
  const Hlo first = hlo.reduce("minimum", candidates, last, static_cast<double>(values.dim(last)));
  const Hlo taken = hlo.compare("EQ", index, over_last(hlo, first, indices));
  values = hlo.select(taken, hlo.constant(kNever, values.type), values);
  return first;
}

// Experts outside of the best groups are out of the running.
Hlo within_top_groups(HloBuilder& hlo, const Hlo& choice, const MoeConfig& config) {
  if (config.groups <= 1) return choice;
  const std::vector<int64_t>& dims = choice.type.dims;
  const std::vector<int64_t> split{dims[0], dims[1], config.groups, dims[2] / config.groups};
  Hlo members = hlo.reshape(choice, split);
  const Hlo grouped = members;
  Hlo scores = hlo.reduce("maximum", members, 3, kNever);
  if (config.group_score == GroupScore::kTopTwoSum && split[3] > 1) {
    take_largest(hlo, members);
    scores = hlo.binary("add", scores, hlo.reduce("maximum", members, 3, kNever));
  }
  const HloType groups{DType::kI32, scores.type.dims};
  Hlo kept = hlo.constant(0, {DType::kBool, groups.dims});
  for (int64_t i = 0; i < config.top_groups; ++i) {
    const Hlo best = over_last(hlo, take_largest(hlo, scores), groups);
    kept = hlo.binary("or", kept, hlo.compare("EQ", hlo.iota(groups, 2), best));
  }
  const Hlo keep = hlo.broadcast(kept, {0, 1, 2}, split);
  return hlo.reshape(hlo.select(keep, grouped, hlo.constant(kNever, grouped.type)), dims);
}

}  // namespace

// The top-k experts of each position, best first.
StableHloOps::Routing StableHloOps::route(const Hlo& x, const MoeSpec& spec) {
  const MoeConfig& config = *spec.config;
  Hlo scores = hlo_.dot(x, parameter(spec.router), {}, {}, 2, 1, DType::kF32);
  if (spec.router_bias != kNoParam) scores = hlo_.binary("add", scores, over_features(spec.router_bias, scores.type));
  if (config.router == RouterKind::kSoftmax) scores = softmax(hlo_, scores);
  if (config.router == RouterKind::kSigmoid) scores = hlo_.unary("logistic", scores);
  if (config.router == RouterKind::kSparseMixer) return route_sparsely(scores, config);
  Hlo choice = scores;
  if (spec.correction_bias != kNoParam) choice = hlo_.binary("add", choice, over_features(spec.correction_bias, choice.type));
  choice = within_top_groups(hlo_, choice, config);

  const std::vector<int64_t> column{scores.dim(0), scores.dim(1), 1};
  const HloType indices{DType::kI32, scores.type.dims};
  std::vector<Hlo> experts, weights;
  for (int64_t i = 0; i < config.top_k; ++i) {
    const Hlo expert = take_largest(hlo_, choice);
    const Hlo here = hlo_.compare("EQ", hlo_.iota(indices, 2), over_last(hlo_, expert, indices));
    const Hlo score = hlo_.reduce("add", hlo_.select(here, scores, hlo_.constant(0, scores.type)), 2, 0);
    experts.push_back(hlo_.reshape(expert, column));
    weights.push_back(hlo_.reshape(score, column));
  }
  Routing routing{hlo_.concatenate(experts, 2), hlo_.concatenate(weights, 2)};
  if (config.router == RouterKind::kTopKSigmoid) routing.weights = hlo_.unary("logistic", routing.weights);
  if (config.router == RouterKind::kTopKSoftmax) routing.weights = softmax(hlo_, routing.weights);
  if (config.normalize_top_k) {
    Hlo sum = hlo_.reduce("add", routing.weights, 2, 0);
    if (config.router == RouterKind::kSigmoid) sum = hlo_.binary("add", sum, 1e-20);
    routing.weights = hlo_.binary("divide", routing.weights, over_last(hlo_, sum, routing.weights.type));
  }
  if (config.routed_scaling != 1.0) routing.weights = hlo_.binary("multiply", routing.weights, config.routed_scaling);
  return routing;
}

// As take_sparsely of moe_routing.cc, for every position.
StableHloOps::Routing StableHloOps::route_sparsely(const Hlo& scores, const MoeConfig& config) {
  const std::vector<int64_t> column{scores.dim(0), scores.dim(1), 1};
  std::vector<Hlo> experts, weights;
  Hlo left = scores;
  for (int64_t i = 0; i < config.top_k; ++i) {
    const Hlo before = left;
    const Hlo largest = over_last(hlo_, hlo_.reduce("maximum", before, 2, kNever), scores.type);
    const Hlo factor = hlo_.binary("maximum", hlo_.unary("abs", scores), largest);
    const Hlo distance = hlo_.binary("divide", hlo_.binary("subtract", largest, scores), factor);
    const Hlo far = hlo_.compare("GT", distance, hlo_.constant(config.sparse_mixer_width, scores.type));
    const Hlo powers = hlo_.unary("exponential", hlo_.binary("subtract", before, largest));
    const Hlo sum = hlo_.reduce("add", hlo_.select(far, hlo_.constant(0, powers.type), powers), 2, 0);
    experts.push_back(hlo_.reshape(take_largest(hlo_, left), column));
    weights.push_back(hlo_.reshape(hlo_.binary("divide", hlo_.constant(1, sum.type), sum), column));
  }
  return {hlo_.concatenate(experts, 2), hlo_.concatenate(weights, 2)};
}

// gate_up [..., 2 * intermediate] float32, rounded -> the input of down, rounded.
Hlo StableHloOps::expert_gate(const Hlo& gate_up, const MoeSpec& spec) {
  const MoeConfig& config = *spec.config;
  const size_t last = gate_up.type.dims.size() - 1;
  const Hlo x = hlo_.convert(hlo_.round(gate_up, dtype_), DType::kF32);
  const int64_t size = x.dim(last);
  if (!config.clamped_swiglu) {
    const Hlo gate = activated(hlo_.slice(x, last, 0, size / 2), spec.activation);
    return hlo_.round(hlo_.binary("multiply", gate, hlo_.slice(x, last, size / 2, size)), dtype_);
  }
  const double limit = config.swiglu_limit;
  const Hlo gate = hlo_.binary("minimum", hlo_.slice(x, last, 0, size, 2), limit);
  const Hlo up = hlo_.binary("maximum", hlo_.binary("minimum", hlo_.slice(x, last, 1, size, 2), limit), -limit);
  const Hlo sigmoid = hlo_.unary("logistic", hlo_.binary("multiply", gate, config.swiglu_alpha));
  return hlo_.round(hlo_.binary("multiply", hlo_.binary("multiply", sigmoid, gate), hlo_.binary("add", up, 1.0)), dtype_);
}

// This rank's rows of a bias of all experts, [experts_local, features] float32.
Hlo StableHloOps::expert_bias(ParamId id, int64_t experts_local) {
  const int64_t features = table_.at(id).elements() / experts_local;
  return hlo_.convert(hlo_.reshape(parameter(id), {experts_local, features}), DType::kF32);
}

Value StableHloOps::moe(const Value& x, const MoeSpec& spec) {
  const auto& from = static_cast<const Hlo&>(*x);
  hlo_.comment("experts");
  Routing routing = route(from, spec);
  const Weight gate_up = weight(spec.gate_up), down = weight(spec.down);
  const int64_t experts = gate_up.values.dim(0);
  if (spec.split == MoeSpec::Split::kExperts && hlo_.replicas() > 1) {
    const Hlo first = hlo_.binary("multiply", rank(), static_cast<double>(experts));
    routing.experts = hlo_.binary("subtract", routing.experts, hlo_.broadcast(first, {}, routing.experts.type.dims));
  }
  Hlo gate_bias, down_bias;
  if (spec.gate_up_bias != kNoParam) gate_bias = expert_bias(spec.gate_up_bias, experts);
  if (spec.down_bias != kNoParam) {
    down_bias = expert_bias(spec.down_bias, experts);
    // Of ranks that hold parts of the same expert one adds the bias.
    if (spec.split == MoeSpec::Split::kFeatures && hlo_.replicas() > 1) {
      const Hlo own = hlo_.compare("EQ", rank(), hlo_.constant(0, {DType::kI32, {}}));
      const Hlo everywhere = hlo_.broadcast(own, {}, down_bias.type.dims);
      down_bias = hlo_.select(everywhere, down_bias, hlo_.constant(0, down_bias.type));
    }
  }

  const int64_t chosen = from.dim(0) * from.dim(1) * spec.config->top_k;
  const Hlo sum = chosen <= experts ? chosen_experts(from, routing, {gate_up, gate_bias, down, down_bias}, spec)
                                    : all_experts(from, routing, {gate_up, gate_bias, down, down_bias}, spec);
  return spec.split == MoeSpec::Split::kNone ? rounded(sum) : std::make_shared<Hlo>(sum);
}

// All experts for all positions; those that a position did not choose have weight 0 for it.
Hlo StableHloOps::all_experts(const Hlo& x, const Routing& routing, const ExpertWeights& weights, const MoeSpec& spec) {
  const std::vector<int64_t> dims{x.dim(0), x.dim(1), weights.gate_up.values.dim(0)};
  const HloType indices{DType::kI32, {dims[0], dims[1], spec.config->top_k, dims[2]}};
  const Hlo chosen = hlo_.compare("EQ", hlo_.iota(indices, 3), over_last(hlo_, routing.experts, indices));
  const HloType spread{DType::kF32, indices.dims};
  const Hlo shares =
      hlo_.reduce("add", hlo_.select(chosen, over_last(hlo_, routing.weights, spread), hlo_.constant(0, spread)), 2, 0);
  Hlo hidden = multiply(x, weights.gate_up, {}, 2);  // [rows, width, experts, 2 * intermediate]
  // The product is linear in what the weights multiply. 0 for experts that were not chosen gives 0, also after activation.
  if (spec.config->weights_input) hidden = hlo_.binary("multiply", hidden, over_last(hlo_, shares, hidden.type));
  if (spec.gate_up_bias != kNoParam)
    hidden = hlo_.binary("add", hidden, hlo_.broadcast(weights.gate_bias, {2, 3}, hidden.type.dims));
  // [experts, rows, width, hidden]
  Hlo mixed = multiply(expert_gate(hidden, spec), weights.down, {2}, 3);
  if (spec.down_bias != kNoParam) mixed = hlo_.binary("add", mixed, hlo_.broadcast(weights.down_bias, {0, 3}, mixed.type.dims));
  if (spec.config->weights_input) return hlo_.reduce("add", mixed, 0, 0);
  const Hlo by_expert = hlo_.broadcast(hlo_.transpose(shares, {2, 0, 1}), {0, 1, 2}, mixed.type.dims);
  return hlo_.reduce("add", hlo_.binary("multiply", mixed, by_expert), 0, 0);
}

// Each choice of each position with the weights of its expert alone: where the choices are fewer than the experts this reads
// less. A choice of another rank's expert reads the nearest own one and gets weight 0.
Hlo StableHloOps::chosen_experts(const Hlo& x, const Routing& routing, const ExpertWeights& weights, const MoeSpec& spec) {
  const int64_t top_k = spec.config->top_k, choices = x.dim(0) * x.dim(1) * top_k, hidden_size = x.dim(2);
  const Hlo experts = hlo_.reshape(routing.experts, {choices});
  const Hlo first = hlo_.constant(0, experts.type);
  const Hlo last = hlo_.constant(static_cast<double>(weights.gate_up.values.dim(0) - 1), experts.type);
  const Hlo own = hlo_.binary("and", hlo_.compare("GE", experts, first), hlo_.compare("LE", experts, last));
  const Hlo index = hlo_.binary("minimum", hlo_.binary("maximum", experts, first), last);
  Hlo shares = hlo_.reshape(routing.weights, {choices});
  shares = hlo_.select(own, shares, hlo_.constant(0, shares.type));

  const Hlo repeated = hlo_.broadcast(x, {0, 1, 3}, {x.dim(0), x.dim(1), top_k, hidden_size});
  const Hlo inputs = hlo_.reshape(repeated, {choices, hidden_size});
  Hlo hidden = multiply(inputs, gather(weights.gate_up, index), {0}, 1);
  if (spec.config->weights_input) hidden = hlo_.binary("multiply", hidden, over_last(hlo_, shares, hidden.type));
  if (spec.gate_up_bias != kNoParam) hidden = hlo_.binary("add", hidden, hlo_.gather_rows(weights.gate_bias, index));
  Hlo mixed = multiply(expert_gate(hidden, spec), gather(weights.down, index), {0}, 1);
  if (spec.down_bias != kNoParam) mixed = hlo_.binary("add", mixed, hlo_.gather_rows(weights.down_bias, index));
  if (!spec.config->weights_input) mixed = hlo_.binary("multiply", mixed, over_last(hlo_, shares, mixed.type));
  return hlo_.reduce("add", hlo_.reshape(mixed, {x.dim(0), x.dim(1), top_k, hidden_size}), 2, 0);
}

}  // namespace tp
