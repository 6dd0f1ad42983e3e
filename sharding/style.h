#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tp {

// How a rule of a tp_plan lays a module out over the ranks. Names and meaning are Hugging Face's, kKvReplicated is ours.
enum class Style {
  kReplicated,           // replicated_with_grad_allreduce, replicated, replicate: whole on every rank, no collective
  kColwise,              // dim 0 split, output sharded
  kColwiseGatherOutput,  // dim 0 split, output all-gathered
  kRowwise,              // dim 1 split, input sharded, output all-reduced, bias added once
  kRowwiseSplitInput,    // as kRowwise, the whole input is sliced first
  kPackedColwise,        // as kColwise, each part of a fused weight split on its own
  kPackedRowwise,        // as kRowwise for a weight whose fused parts lie on its last dim
  kEmbeddingRowwise,     // vocabulary split, partial look-ups summed
  kEmbeddingColwise,     // hidden features split, look-ups all-gathered
  kKvReplicated,         // tp_size is a multiple of the KV heads: rank r holds KV head floor(r * kv_heads / tp_size)
  kMlaKvAProj,           // DeepSeek's kv_a_proj_with_mqa: whole on every rank
  kMoeTpExperts,         // on the experts module: every rank runs its part of every expert, output all-reduced
  kGroupedGemm,          // expert weights split by expert
  kEpDispatchExperts,    // on the experts module: every rank runs its own experts, output all-reduced
  kSequenceParallel,
  kAllReduce,
  kMoeIdentityExpert,
  kLocalParams,
};

// A row of the style table: the canonical name, other spellings, and whether it is supported.
struct StyleInfo {
  Style style;
  std::string_view name;
  std::vector<std::string_view> aliases;    // as good as the name
  std::vector<std::string_view> old_names;  // understood with a note
  std::string_view reason;                  // why it is refused; empty for a supported style
  bool supported() const { return reason.empty(); }
};

const std::vector<StyleInfo>& style_table();
const StyleInfo& style_info(Style style);

// nullopt for a name that is no style at all. `old_name` is set to whether the name is an older spelling.
std::optional<Style> style_from_name(std::string_view name, bool* old_name = nullptr);

// Every spelling of the supported styles, for near names.
std::vector<std::string> style_names();

}  // namespace tp
