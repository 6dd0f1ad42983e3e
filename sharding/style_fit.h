#pragma once

#include <optional>
#include <string>

#include "sharding/plan.h"

namespace tp {

// Where the features of an activation lie.
enum class Layout {
  kWhole,    // every rank has all of them
  kSharded,  // every rank has its own: heads, or a part of the MLP's features
};

// Why a style cannot be applied to a module at all, whatever is around it.
struct Misfit {
  std::string what, fix;
};

// nullopt when the style has a meaning for this kind of module. Whether its neighbours agree is for plan_check.h.
std::optional<Misfit> misfit(const PlannedModule& planned);

// What a module's style leaves behind when its input is `input`; nullopt when it does not take such an input.
std::optional<Layout> output_layout(Style style, Layout input);

}  // namespace tp
