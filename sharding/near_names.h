#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tp {

// Edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`.
int edit_distance(std::string_view a, std::string_view b);

// Up to three of `candidates` that a typo could have turned into `name`, nearest first, ties in alphabetical order.
std::vector<std::string> near_names(std::string_view name, const std::vector<std::string>& candidates);

// "`a`, `b`, `c`"; "" for none.
std::string quoted_list(const std::vector<std::string>& names);

// "did you mean `a`?", "did you mean `a` or `b`?", or "" when nothing is near: for the fix of an Error.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace tp
