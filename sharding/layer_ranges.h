#pragma once

#include <string>
#include <vector>

namespace tp {

// How messages name one thing in several layers. `pattern` has `*` for the layer's number, `layers` are those meant, in
// ascending order, out of `total` that there are: "layers.*.mlp.up_proj" for all of them, "layers.3.mlp.up_proj" for one,
// "layers.[3,5-7].mlp.up_proj" for some. Without a `*` the pattern is the name.
std::string name_in_layers(const std::string& pattern, const std::vector<int>& layers, int total);

}  // namespace tp
