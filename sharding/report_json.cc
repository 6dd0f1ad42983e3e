#include <nlohmann/json.hpp>

#include "sharding/plan_report.h"

namespace tp {
namespace {

using Json = nlohmann::ordered_json;

Json slice_json(const ShardSlice& slice, int rank) {
  Json runs = Json::array();
  for (const SliceRun& run : slice.runs) runs.push_back({run.source_begin, run.count, run.target_begin});
  return {{"rank", rank}, {"dim", slice.whole() ? Json(nullptr) : Json(slice.dim)}, {"runs", std::move(runs)}};
}

Json weight_json(const WeightShare& share) {
  Json slices = Json::array();
  for (size_t rank = 0; rank < share.slices.size(); ++rank)
    slices.push_back(slice_json(share.slices[rank], static_cast<int>(rank)));
  return {{"name", share.name},
          {"style", style_info(share.style).name},
          {"rule", share.rule.empty() ? Json(nullptr) : Json(share.rule)},
          {"where", share.where.empty() ? Json(nullptr) : Json(share.where)},
          {"shape", share.shape},
          {"local_shape", share.slices.front().local_shape},
          {"format", share.kind == WeightKind::kStored ? Json(nullptr) : Json(weight_kind_name(share.kind))},
          {"bytes", share.bytes},
          {"padding_bytes", share.padding_bytes},
          {"shared", share.shared},
          {"slices", std::move(slices)}};
}

// What a decode step needs, and the bound that follows for the chips that are known.
Json step_json(const PlanReport& report) {
  Json json = {{"read_bytes", report.step.read_bytes}, {"flops", report.step.flops}, {"link_bytes", report.step.link_bytes}};
  if (!report.bound) return json;
  const StepBound& bound = *report.bound;
  json["bound"] = {{"generation", bound.generation}, {"measured", false},
                   {"seconds", bound.seconds()},     {"limited_by", bound.limited_by()},
                   {"read_s", bound.read_s},         {"flops_s", bound.flops_s},
                   {"link_s", bound.link_s}};
  return json;
}

}  // namespace

std::string report_json(const PlanReport& report) {
  Json weights = Json::array(), collectives = Json::array(), totals = Json::object();
  for (const WeightShare& share : report.weights) weights.push_back(weight_json(share));
  for (const PlannedCollective& collective : report.collectives) {
    collectives.push_back({{"module", collective.module}, {"op", collective.op}, {"bytes", collective.bytes}});
  }
  for (const auto& [op, total] : report.totals) totals[op] = {{"count", total.count}, {"bytes", total.bytes}};
  const Json json = {{"plan", report.plan},
                     {"model_type", report.model_type},
                     {"tp_size", report.tp_size},
                     {"dtype", torch_name(report.dtype)},
                     {"model_bytes", report.stored_bytes},
                     {"bytes_per_chip", report.bytes_per_chip},
                     {"padding_bytes_per_chip", report.padding_bytes_per_chip},
                     {"cache_bytes_per_token", report.cache_bytes_per_token},
                     {"collectives_per_token", std::move(totals)},
                     {"collectives", std::move(collectives)},
                     {"step", step_json(report)},
                     {"weights", std::move(weights)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tp
