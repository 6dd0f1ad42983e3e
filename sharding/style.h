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
  kPackedColwise, kPackedRowwise,
  kEmbeddingRowwise,     // vocabulary split, partial look-ups summed
  kEmbeddingColwise,
  kKvReplicated,
  kMlaKvAProj, kMoeTpExperts, kGroupedGemm, kEpDispatchExperts, kSequenceParallel, kAllReduce, kMoeIdentityExpert, kLocalParams,
};

// A row of the style table: the canonical name, other spellings (old ones carry a note), and whether it is supported.
struct StyleInfo {
  Style style;
  std::string_view name;
  std::vector<std::string_view> aliases;
  bool supported;
  std::string_view reason;  // why not, when it is not supported
};

const std::vector<StyleInfo>& style_table();
const StyleInfo& style_info(Style style);
// nullopt for a name that is no style at all. `old_name` is set when the name is an older spelling.
std::optional<Style> style_from_name(std::string_view name, bool* old_name = nullptr);

}  // namespace tp
