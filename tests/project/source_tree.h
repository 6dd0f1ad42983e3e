#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tp {

// Paths relative to the project's root -> content. What is built or installed (build/, .venv/) is not part of it.
using SourceTree = std::map<std::string, std::string>;
SourceTree read_source_tree(const std::filesystem::path& root);

bool is_cpp(const std::string& path);

// What a file includes itself, as written between the quotes or angle brackets.
std::vector<std::string> includes_of(const std::string& content);

// What a file includes, also by way of the project's own headers.
std::set<std::string> included_by(const SourceTree& tree, const std::string& path);

// Sources that a room's CMake list names for `target`, with the room in front: "runtime/sampler.cc".
std::set<std::string> sources_of_target(const SourceTree& tree, const std::string& cmake_list, const std::string& target);

}  // namespace tp
