#include "runtime/quantized_config.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "sharding/expert_name.h"
#include "sharding/json_document.h"

namespace tp {
namespace {

constexpr int64_t kMaxConfigBytes = int64_t{16} << 20;

Json group_of(WeightKind kind, const Json& targets) {
  const bool int8 = kind == WeightKind::kInt8;
  Json weights = {{"num_bits", int8 ? 8 : 4},
                  {"type", "int"},
                  {"symmetric", true},
                  {"strategy", int8 ? "channel" : "group"},
                  {"group_size", int8 ? Json(nullptr) : Json(unit_of(kind))},
                  {"dynamic", false}};
  return {{"targets", targets},
          {"weights", std::move(weights)},
          {"input_activations", nullptr},
          {"output_activations", nullptr},
          {"format", int8 ? "int-quantized" : "pack-quantized"}};
}

// Of a module in the new checkpoint, where quantized experts are modules of their own.
std::vector<std::string> saved_names(const PlannedModule& planned) {
  const ModuleSpec& module = planned.module;
  if (planned.kind == WeightKind::kStored || module.per_expert.empty()) return {module.name};
  std::vector<std::string> names;
  for (int64_t expert = 0; expert < module.weight_shape[0]; ++expert) {
    for (const std::string& pattern : module.per_expert) {
      const std::string name = expert_name(pattern, expert);
      names.push_back(name.substr(0, name.rfind('.')));
    }
  }
  return names;
}

Json quantization_of(const ResolvedPlan& plan) {
  std::map<WeightKind, std::vector<std::string>> modules;
  for (const PlannedModule& planned : plan.modules) {
    if (!planned.module.has_weight || !is_linear_role(planned.module.role)) continue;
    for (std::string& name : saved_names(planned)) modules[planned.kind].push_back(std::move(name));
  }
  WeightKind commonest = WeightKind::kStored;
  size_t most = 0;
  for (const auto& [kind, names] : modules) {
    if (kind == WeightKind::kStored || names.size() <= most) continue;
    commonest = kind;
    most = names.size();
  }
  Json groups = Json::object();
  for (const auto& [kind, names] : modules) {
    if (kind == WeightKind::kStored) continue;
    const std::string name = "group_" + std::to_string(groups.size());
    groups[name] = group_of(kind, kind == commonest ? Json::array({"Linear"}) : Json(names));
  }
  const std::string format = groups.size() > 1 ? "mixed-precision" : groups.begin().value().at("format").get<std::string>();
  return {{"quant_method", "compressed-tensors"}, {"quantization_status", "compressed"},    {"format", format},
          {"config_groups", std::move(groups)},   {"ignore", modules[WeightKind::kStored]}, {"kv_cache_scheme", nullptr}};
}

}  // namespace

std::string quantized_config(const ResolvedPlan& plan, const std::string& model_dir) {
  const std::string path = (std::filesystem::path(model_dir) / "config.json").string();
  Json config = parse_json(read_text_file(path, kMaxConfigBytes), path);
  config["quantization_config"] = quantization_of(plan);
  for (const PlannedModule& planned : plan.modules)
    if (planned.module.role == Role::kLmHead && planned.kind != WeightKind::kStored) config["tie_word_embeddings"] = false;
  return config.dump(2) + "\n";
}

}  // namespace tp
