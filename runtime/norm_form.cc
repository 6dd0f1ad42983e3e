#include "runtime/norm_form.h"

namespace tp {

std::string norm_form(const ParameterTable& table, ParamId weight, ParamId bias, NormKind kind, int64_t size) {
  const std::string form = kind == NormKind::kLayerNorm ? "layer" : kind == NormKind::kRmsOnePlus ? "rms_one_plus" : "rms";
  // A weight of its own for each group, or a bias, makes it another operation; so does a layer norm times 1 + w.
  const bool plain =
      weight != kNoParam && bias == kNoParam && table.at(weight).elements() == size && kind != NormKind::kLayerNormOnePlus;
  return plain ? form : form + " of another form";
}

}  // namespace tp
