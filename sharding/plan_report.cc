#include "sharding/plan_report.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "sharding/layer_modules.h"
#include "sharding/plan_pattern.h"
#include "sharding/style_fit.h"

namespace tp {
namespace {

constexpr int64_t kFloat32Bytes = 4;

int64_t product(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

std::string without_prefix(const std::string& name) {
  std::string joined;
  for (const std::string& component : name_components(name)) joined += (joined.empty() ? "" : ".") + component;
  return joined;
}

class ReportBuilder {
 public:
  ReportBuilder(const ResolvedPlan& plan, const ModelConfig& config, DType dtype, bool lm_head_stored, bool int8_cache)
      : plan_(plan), config_(config), lm_head_stored_(lm_head_stored), int8_cache_(int8_cache) {
    report_.plan = plan.plan.name;
    report_.model_type = config.model_type;
    report_.tp_size = plan.tp_size;
    report_.dtype = dtype;
  }

  PlanReport build() {
    for (const PlannedModule& planned : plan_.modules) {
      if (planned.module.has_weight) add_weight(planned, planned.module.weight_name(), planned.module.weight_shape, false);
      if (planned.module.has_bias) add_weight(planned, planned.module.bias_name(), {planned.module.weight_shape[0]}, true);
      if (plan_.tp_size > 1) add_collective(planned);
    }
    for (const LayerModules& layer : layers_of(plan_)) report_.cache_bytes_per_token += cache_bytes(layer);
    for (const WeightShare& share : report_.weights) {
      report_.bytes_per_chip += share.bytes;
      report_.padding_bytes_per_chip += share.padding_bytes;
      if (!is_tied_head(share)) report_.stored_bytes += product(share.shape) * element();
    }
    for (const PlannedCollective& collective : report_.collectives) {
      OpTotal& total = report_.totals[collective.op];
      ++total.count;
      total.bytes += collective.bytes;
      // A ring: every chip passes on all parts but its own, for a sum twice.
      const double others = static_cast<double>(plan_.tp_size - 1) / plan_.tp_size;
      report_.step.link_bytes += others * static_cast<double>(collective.bytes) * (collective.op == "all_reduce" ? 2 : 1);
    }
    return std::move(report_);
  }

 private:
  int64_t element() const { return size_bytes(report_.dtype); }

  bool tied() const { return config_.tie_word_embeddings && !lm_head_stored_; }
  bool is_tied_head(const WeightShare& share) const { return tied() && share.name == head_name_; }

  void add_weight(const PlannedModule& planned, const std::string& name, std::vector<int64_t> shape, bool bias) {
    WeightShare share;
    share.name = without_prefix(name);
    share.layer = planned.module.layer;
    share.style = planned.style;
    if (!bias) share.kind = planned.kind;
    if (planned.rule) {
      share.rule = plan_.plan.rules[*planned.rule].pattern;
      share.where = plan_.plan.rules[*planned.rule].where;
    }
    share.shape = std::move(shape);
    int64_t stored = 0;
    for (int rank = 0; rank < plan_.tp_size; ++rank) {
      share.slices.push_back((bias ? bias_slice : weight_slice)(planned.module, planned.style, rank, plan_.tp_size));
      const int64_t here = share.slices.back().stored_elements(share.shape);
      stored = rank == 0 ? here : std::min(stored, here);
    }
    if (planned.module.role == Role::kLmHead && !bias) {
      head_name_ = share.name;
      // A quantized head is a copy of its own.
      share.shared =
          tied() && share.kind == WeightKind::kStored && (plan_.tp_size == 1 || plan_.plan.tied == TiedWeights::kVocabParallel);
    }
    const int64_t local = share.slices.front().local_elements();
    share.bytes = share.shared ? 0 : bytes_of(share, local);
    share.padding_bytes = share.shared ? 0 : bytes_of(share, local - stored);
    add_to_step(planned.module.role, share, local, bias);
    report_.weights.push_back(std::move(share));
  }

  // Of some of its elements, in whole rows or as near as makes no difference to padding.
  int64_t bytes_of(const WeightShare& share, int64_t elements) const {
    if (share.kind == WeightKind::kStored) return elements * element();
    const int64_t in = share.slices.front().local_shape.back();
    return weight_bytes(share.kind, report_.dtype, elements / in, in);
  }

  // Of experts the chosen ones take part, of the embedding one row is read.
  void add_to_step(Role role, const WeightShare& share, int64_t local, bool bias) {
    const std::vector<int64_t>& local_shape = share.slices.front().local_shape;
    int64_t used = local;
    if (is_expert_parameter(role)) used = local * config_.moe->top_k / config_.moe->num_experts;
    if (role == Role::kEmbedding) used = local_shape.back();
    report_.step.read_bytes += bytes_of(share, used);
    if (role != Role::kEmbedding && !bias && local_shape.size() > 1) report_.step.flops += 2.0 * static_cast<double>(used);
  }

  void add_collective(const PlannedModule& planned) {
    const std::vector<int64_t>& shape = planned.module.weight_shape;
    const std::string name = without_prefix(planned.module.name);
    if (is_expert_parameter(planned.module.role)) {
      const bool summed = planned.experts_style == Style::kMoeTpExperts || planned.experts_style == Style::kEpDispatchExperts;
      if (summed && planned.module.role == Role::kExpertsDown) {
        report_.collectives.push_back({name, "all_reduce", config_.hidden_size * kFloat32Bytes});
      }
      return;
    }
    switch (planned.style) {
      case Style::kRowwise:
      case Style::kRowwiseSplitInput:  // partial sums are float32
        report_.collectives.push_back({name, "all_reduce", shape[0] * kFloat32Bytes});
        break;
      case Style::kEmbeddingRowwise:
        report_.collectives.push_back({name, "all_reduce", shape[1] * kFloat32Bytes});
        break;
      case Style::kColwiseGatherOutput: {  // logits are float32
        const int64_t bytes = planned.module.role == Role::kLmHead ? kFloat32Bytes : element();
        report_.collectives.push_back({name, "all_gather", chunk_length(shape[0], plan_.tp_size) * plan_.tp_size * bytes});
        break;
      }
      case Style::kEmbeddingColwise:
        report_.collectives.push_back({name, "all_gather", chunk_length(shape[1], plan_.tp_size) * plan_.tp_size * element()});
        break;
      default:
        break;
    }
  }

  // Of the keys and values that a rank keeps for one token of one layer.
  int64_t cache_bytes(const LayerModules& layer) const {
    int64_t features = 0;
    if (const PlannedModule* qkv = layer.find(Role::kQkv)) {
      const bool split = output_layout(qkv->style, Layout::kWhole) == Layout::kSharded;
      if (qkv->module.parts.empty()) {
        const int64_t rows = split ? local_rows(*qkv) : qkv->module.weight_shape[0];
        features = rows / 3 * 2;
      } else {
        features = 2 * part_features_local(qkv->module, qkv->style, plan_.tp_size)[1];
      }
    }
    if (const PlannedModule* kv_b = layer.find(Role::kKvB); kv_b != nullptr && config_.mla) {  // expanded keys and values
      const bool split = output_layout(kv_b->style, Layout::kWhole) == Layout::kSharded;
      const int64_t rows = split ? local_rows(*kv_b) : kv_b->module.weight_shape[0];
      const int64_t heads = rows / (config_.mla->qk_nope_head_dim + config_.mla->v_head_dim);
      features += heads * (config_.head_dim + config_.mla->v_head_dim);
    }
    for (const PlannedModule* planned : layer.present({Role::kK, Role::kV})) {
      const bool split = output_layout(planned->style, Layout::kWhole) == Layout::kSharded;
      features += split ? local_rows(*planned) : planned->module.weight_shape[0];
    }
    if (!int8_cache_) return features * element();
    const int64_t head_features = config_.head_dim + (config_.mla ? config_.mla->v_head_dim : config_.head_dim);
    return features + features / head_features * 2 * int64_t{kFloat32Bytes};
  }

  int64_t local_rows(const PlannedModule& planned) const {
    return weight_slice(planned.module, planned.style, 0, plan_.tp_size).local_shape[0];
  }

  const ResolvedPlan& plan_;
  const ModelConfig& config_;
  bool lm_head_stored_, int8_cache_;
  std::string head_name_;
  PlanReport report_;
};

}  // namespace

PlanReport plan_report(const ResolvedPlan& plan, const ModelConfig& config, DType dtype, bool lm_head_stored, bool int8_cache) {
  return ReportBuilder(plan, config, dtype, lm_head_stored, int8_cache).build();
}

std::string slice_text(const ShardSlice& slice, const std::vector<int64_t>& shape) {
  if (slice.whole()) return "all";
  std::string text = "[";
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (dim > 0) text += ", ";
    if (static_cast<int>(dim) != slice.dim) {
      text += ":";
      continue;
    }
    if (slice.runs.empty()) text += "none";
    for (size_t i = 0; i < slice.runs.size(); ++i) {
      const SliceRun& run = slice.runs[i];
      text += (i > 0 ? " " : "") + std::to_string(run.source_begin) + ":" + std::to_string(run.source_begin + run.count);
    }
  }
  return text + "]";
}

}  // namespace tp
