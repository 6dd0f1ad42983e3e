#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tp {

// Why a model_type that transformers 5.24 has a plan for does not run: the layer or operation that is missing, as the end of a
// sentence. Empty for one that runs and for one that nobody knows.
std::string_view unsupported_reason(std::string_view model_type);

// All of them, in alphabetical order.
std::vector<std::string> unsupported_model_types();

}  // namespace tp
