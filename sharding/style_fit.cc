#include "sharding/style_fit.h"

namespace tp {
namespace {

enum class Kind {
  kEmbedding,
  kNorm,
  kHeadNorm,
  kSinks,
  kFusedLinear,
  kHeadByHeadLinear,
  kKeyOrValue,
  kLinear,
  kRouter,
  kExperts
};

Kind kind_of(const ModuleSpec& module) {
  switch (module.role) {
    case Role::kEmbedding:
      return Kind::kEmbedding;
    case Role::kK:
    case Role::kV:
      return Kind::kKeyOrValue;
    case Role::kQkv:
    case Role::kGateUp:
    case Role::kSharedGateUp:
      return module.parts.empty() ? Kind::kHeadByHeadLinear : Kind::kFusedLinear;
    case Role::kSinks:
      return Kind::kSinks;
    case Role::kRouter:
    case Role::kCorrectionBias:
    case Role::kSharedExpertGate:
      return Kind::kRouter;
    case Role::kExpertsGateUp:
    case Role::kExpertsGateUpBias:
    case Role::kExpertsDown:
    case Role::kExpertsDownBias:
      return Kind::kExperts;
    default:
      if (module.weight_shape.size() > 1 && module.role != Role::kQNorm && module.role != Role::kKNorm) return Kind::kLinear;
      return module.weight_shape.size() > 1 ? Kind::kHeadNorm : Kind::kNorm;
  }
}

bool is_expert_style(Style style) {
  return style == Style::kMoeTpExperts || style == Style::kGroupedGemm || style == Style::kEpDispatchExperts;
}

bool is_embedding_style(Style style) {
  return style == Style::kEmbeddingRowwise || style == Style::kEmbeddingColwise;
}

std::string named(Style style) {
  return "`" + std::string(style_info(style).name) + "`";
}

std::optional<Misfit> embedding_misfit(Style style) {
  if (is_embedding_style(style)) return std::nullopt;
  return Misfit{named(style) + " is not for an embedding", "use `embedding_rowwise`, `embedding_colwise` or `replicated`"};
}

std::optional<Misfit> linear_misfit(const ModuleSpec& module, Style style, Kind kind) {
  if (is_embedding_style(style)) {
    return Misfit{named(style) + " is for an embedding, this is a linear layer",
                  style == Style::kEmbeddingRowwise ? "use `colwise` or `colwise_gather_output`" : "use `rowwise`"};
  }
  if (style == Style::kPackedRowwise) {
    return Misfit{"`packed_rowwise` is for experts that are stored [in, out]; this weight is not fused along its input",
                  "use `rowwise`"};
  }
  if (style == Style::kPackedColwise && kind != Kind::kFusedLinear) {
    return Misfit{"`packed_colwise` is for a fused weight, this one has no parts", "use `colwise`"};
  }
  const bool has_kv_heads = kind == Kind::kKeyOrValue || (module.role == Role::kQkv && kind == Kind::kFusedLinear);
  if (style == Style::kKvReplicated && !has_kv_heads) {
    return Misfit{"`kv_replicated` is for the projections of keys and values", "use `colwise`"};
  }
  if (style == Style::kColwise && kind == Kind::kFusedLinear) {
    return Misfit{"`colwise` would cut through the parts of this fused weight and give wrong numbers", "use `packed_colwise`"};
  }
  return std::nullopt;
}

std::optional<Misfit> experts_misfit(const ModuleSpec& module, Style style) {
  if (style == Style::kGroupedGemm) return std::nullopt;
  const bool gate_up = module.role == Role::kExpertsGateUp, has_parts = !module.parts.empty();
  if (module.role == Role::kExpertsDown && module.transposed && style == Style::kColwise) return std::nullopt;
  if (gate_up && module.transposed && has_parts) {
    if (style == Style::kPackedRowwise) return std::nullopt;
    return Misfit{named(style) + " is not for the weights of experts that are stored [in, out]",
                  "use `packed_rowwise` or `grouped_gemm`"};
  }
  if (gate_up && has_parts && style == Style::kPackedColwise) return std::nullopt;
  if (module.role == Role::kExpertsDown && style == Style::kRowwise) return std::nullopt;
  if (gate_up && has_parts && style == Style::kColwise) return linear_misfit(module, style, Kind::kFusedLinear);
  if (gate_up && !has_parts && style == Style::kPackedColwise) {
    return Misfit{"`packed_colwise` cannot cut this weight, in which gate and up alternate", "use `grouped_gemm`"};
  }
  return Misfit{named(style) + " is not for the weights of experts",
                gate_up && has_parts                ? "use `packed_colwise` or `grouped_gemm`"
                : module.role == Role::kExpertsDown ? "use `rowwise` or `grouped_gemm`"
                                                    : "use `grouped_gemm`"};
}

}  // namespace

std::optional<Misfit> misfit(const PlannedModule& planned) {
  const Style style = planned.style;
  if (style == Style::kReplicated) return std::nullopt;
  if (style == Style::kMlaKvAProj) {
    if (planned.module.role == Role::kKvA) return std::nullopt;
    return Misfit{"`mla_kv_a_proj` is for the compressed keys and values of latent attention", "use `replicated`"};
  }
  const Kind kind = kind_of(planned.module);
  if (kind == Kind::kExperts) return experts_misfit(planned.module, style);
  if (style == Style::kLocalParams) {
    return Misfit{"`local_params` is for a module with bare parameters of its heads, such as attention sinks",
                  "remove the rule"};
  }
  if (is_expert_style(style)) return Misfit{named(style) + " is for the experts of a mixture of experts", "remove the rule"};
  switch (kind) {
    case Kind::kEmbedding:
      return embedding_misfit(style);
    case Kind::kNorm:
      return Misfit{named(style) + " cannot cut a norm, which needs all its features", "remove the rule"};
    case Kind::kSinks:
      if (style == Style::kColwise) return std::nullopt;
      return Misfit{named(style) + " is not for attention sinks", "remove the rule: they follow the heads"};
    case Kind::kRouter:
      return Misfit{named(style) + " cannot cut a router, which every chip runs whole", "remove the rule"};
    case Kind::kHeadNorm:
      if (style == Style::kColwise || (style == Style::kKvReplicated && planned.module.role == Role::kKNorm))
        return std::nullopt;
      return Misfit{named(style) + " is not for a norm with a weight of its own for each head", "use `colwise`"};
    default:
      return linear_misfit(planned.module, style, kind);
  }
}

std::optional<Layout> output_layout(Style style, Layout input) {
  if (input == Layout::kSharded) return style == Style::kRowwise ? std::optional(Layout::kWhole) : std::nullopt;
  switch (style) {
    case Style::kRowwise:
      return std::nullopt;
    case Style::kColwise:
    case Style::kPackedColwise:
    case Style::kKvReplicated:
      return Layout::kSharded;
    default:
      return Layout::kWhole;
  }
}

}  // namespace tp
