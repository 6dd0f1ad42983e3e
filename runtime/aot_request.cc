#include "runtime/aot_request.h"

#include <nlohmann/json.hpp>

#include "sharding/error.h"

namespace tp {
namespace {

using Json = nlohmann::ordered_json;

// One list of the fields serves both directions: `field(name, member)`.
template <typename Request, typename Field>
void fields(Request& request, Field&& field) {
  field("libtpu", request.libtpu);
  field("model", request.model);
  field("plans_dir", request.plans_dir);
  field("plan", request.plan.plan);
  field("overrides", request.plan.overrides);
  field("dtype", request.dtype);
  field("weights", request.weights);
  field("topology", request.topology);
  field("tp_size", request.tp_size);
  field("cache_len", request.cache_len);
  field("batch", request.batch);
  field("prefill", request.prefill);
  field("json", request.json);
  field("dump_hlo", request.dump_hlo);
  field("kernels", request.kernels);
  field("task", request.task);
  field("all_logits", request.all_logits);
}

}  // namespace

std::string to_json(const AotRequest& request) {
  Json json;
  fields(request, [&](const char* name, const auto& member) { json[name] = member; });
  if (request.plan.tied) json["tied"] = static_cast<int>(*request.plan.tied);
  return json.dump();
}

AotRequest aot_request_from_json(const std::string& text) {
  AotRequest request;
  try {
    const Json json = Json::parse(text);
    fields(request, [&](const char* name, auto& member) { json.at(name).get_to(member); });
    if (json.contains("tied")) request.plan.tied = static_cast<TiedWeights>(json["tied"].get<int>());
  } catch (const nlohmann::json::exception& error) {
    throw Error("tprun-aot", std::string("bad request: ") + error.what(), "use `tprun plan aot`, which starts this program");
  }
  return request;
}

}  // namespace tp
