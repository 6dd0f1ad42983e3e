#include "launcher/env_report.h"

#include <nlohmann/json.hpp>

#include "launcher/shell_quote.h"
#include "sharding/error.h"

namespace tp {
namespace {

using Json = nlohmann::json;

const Environment& variables_of(const LaunchEnv& env, int64_t rank) {
  std::string ranks;
  for (const Environment& one : env.ranks) {
    if (one.at("RANK") == std::to_string(rank)) return one;
    ranks += (ranks.empty() ? "" : ", ") + one.at("RANK");
  }
  throw Error("--rank", std::to_string(rank) + " is not a rank of this host", "one of " + ranks);
}

}  // namespace

std::string env_assignments(const LaunchEnv& env, std::optional<int64_t> rank) {
  Environment all = env.common;
  if (rank) all.insert(variables_of(env, *rank).begin(), variables_of(env, *rank).end());
  std::string text;
  for (const auto& [name, value] : all) text += "export " + name + "=" + shell_quoted(value) + "\n";
  return text;
}

std::string env_json(const LaunchEnv& env, std::optional<int64_t> rank) {
  Json json = {{"env", env.common}};
  if (rank) {
    json["ranks"] = Json::array({variables_of(env, *rank)});
  } else {
    json["ranks"] = env.ranks;
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tp
