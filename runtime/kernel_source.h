#pragma once

#include <string>

namespace tp {

// A kernel package that a job uses, and what happens to an operation that none of its variants fits.
struct KernelSource {
  std::string package;             // directory
  bool built_in = false;           // true: the built-in operation runs; false: the program is refused
  std::string operator_name = {};  // of its torch library; empty: what the package says, or one of the usual names
};

template <typename Json>
void to_json(Json& json, const KernelSource& source) {
  json = Json{{"package", source.package}, {"built_in", source.built_in}, {"operator", source.operator_name}};
}
template <typename Json>
void from_json(const Json& json, KernelSource& source) {
  json.at("package").get_to(source.package);
  json.at("built_in").get_to(source.built_in);
  json.at("operator").get_to(source.operator_name);
}

}  // namespace tp
