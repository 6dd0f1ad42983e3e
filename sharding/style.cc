#include "sharding/style.h"

#include <algorithm>
#include <stdexcept>

namespace tp {

const std::vector<StyleInfo>& style_table() {
  static const std::vector<StyleInfo> table = {
      {Style::kReplicated, "replicated", {"replicated_with_grad_allreduce", "replicate"}, {}, ""},
      {Style::kColwise, "colwise", {}, {}, ""},
      {Style::kColwiseGatherOutput, "colwise_gather_output", {}, {"colwise_rep"}, ""},
      {Style::kRowwise, "rowwise", {}, {}, ""},
      {Style::kRowwiseSplitInput, "rowwise_split_input", {}, {"rowwise_rep"}, ""},
      {Style::kPackedColwise, "packed_colwise", {}, {}, ""},
      {Style::kPackedRowwise, "packed_rowwise", {}, {}, ""},
      {Style::kEmbeddingRowwise, "embedding_rowwise", {}, {}, ""},
      {Style::kEmbeddingColwise, "embedding_colwise", {}, {}, ""},
      {Style::kKvReplicated, "kv_replicated", {}, {}, ""},
      {Style::kMlaKvAProj, "mla_kv_a_proj", {}, {}, ""},
      {Style::kMoeTpExperts, "moe_tp_experts", {}, {}, ""},
      {Style::kGroupedGemm, "grouped_gemm", {}, {}, ""},
      {Style::kEpDispatchExperts, "ep_dispatch_experts", {}, {}, ""},
      {Style::kSequenceParallel,
       "sequence_parallel",
       {},
       {},
       "it splits activations along the sequence to save memory in "
       "training; norms run whole on every chip here"},
      {Style::kAllReduce, "all_reduce", {}, {}, "a sum is taken where a rowwise rule needs it, never by a rule of its own"},
      {Style::kMoeIdentityExpert, "moe_identity_expert", {}, {}, "no supported model has identity experts (longcat_flash)"},
      {Style::kLocalParams, "local_params", {}, {}, ""},
  };
  return table;
}

const StyleInfo& style_info(Style style) {
  for (const StyleInfo& info : style_table()) {
    if (info.style == style) return info;
  }
  throw std::logic_error("style without a row in the style table");
}

std::optional<Style> style_from_name(std::string_view name, bool* old_name) {
  for (const StyleInfo& info : style_table()) {
    const bool old = std::ranges::find(info.old_names, name) != info.old_names.end();
    if (old_name != nullptr) *old_name = old;
    if (old || info.name == name || std::ranges::find(info.aliases, name) != info.aliases.end()) return info.style;
  }
  return std::nullopt;
}

std::vector<std::string> style_names() {
  std::vector<std::string> names;
  for (const StyleInfo& info : style_table()) {
    if (!info.supported()) continue;
    names.emplace_back(info.name);
    names.insert(names.end(), info.aliases.begin(), info.aliases.end());
  }
  return names;
}

}  // namespace tp
