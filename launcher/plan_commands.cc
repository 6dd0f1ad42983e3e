#include "launcher/plan_commands.h"

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "launcher/checked_model.h"
#include "launcher/model_path.h"
#include "launcher/program_path.h"
#include "sharding/error.h"
#include "sharding/plan_check.h"
#include "sharding/plan_report.h"

namespace tp {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kMostChips = 4096;

// --tp, else --nproc-per-node, else 1; they may not disagree.
int tp_size_of(const Options& options) {
  const auto tp = options.count("tp");
  std::optional<int64_t> nproc;
  if (options.given("nproc-per-node") && options.text("nproc-per-node") != "auto") {
    nproc = std::atoll(options.text("nproc-per-node").c_str());
    if (*nproc < 1)
      throw Error("--nproc-per-node", "`" + options.text("nproc-per-node") + "` is not a number of ranks",
                  "a whole number, 1 or more");
  }
  if (tp && nproc && *tp != *nproc) {
    throw Error("--tp", std::to_string(*tp) + " and --nproc-per-node " + std::to_string(*nproc) + " disagree",
                "leave one of them out");
  }
  const int64_t size = tp ? *tp : nproc.value_or(1);
  if (size < 1 || size > kMostChips)
    throw Error(tp ? "--tp" : "--nproc-per-node", std::to_string(size) + " is not a number of chips",
                "a whole number from 1 to " + std::to_string(kMostChips));
  return static_cast<int>(size);
}

bool has_weights(const fs::path& model) {
  std::error_code ignored;
  return fs::is_directory(model, ignored) &&
         (fs::exists(model / "model.safetensors", ignored) || fs::exists(model / "model.safetensors.index.json", ignored));
}

struct PlannedModel {
  ModelConfig config;
  ResolvedPlan plan;
  bool lm_head_stored = false;
  DType dtype = DType::kBF16;
};

PlannedModel planned_model(const Options& options) {
  const int tp_size = tp_size_of(options);
  const fs::path model = resolve_model(options.text("model"), true);
  PlannedModel planned;
  if (has_weights(model)) {
    CheckedModel checked = check_model(options, tp_size);
    planned.lm_head_stored = checked.checkpoint.find("lm_head.weight") != nullptr;
    planned.dtype = resolve_dtype(options.text("dtype"), checked.config, checked.checkpoint);
    planned.config = std::move(checked.config);
    planned.plan = std::move(checked.plan);
    return planned;
  }
  planned.config = load_model_config(model);
  planned.lm_head_stored = !planned.config.tie_word_embeddings;
  const std::string dtype = options.text("dtype");
  planned.dtype = dtype == "auto" ? planned.config.dtype.value_or(DType::kBF16) : dtype_from_torch(dtype, "--dtype");
  planned.plan = resolve_plan(load_plan(plan_request(options), planned.config, plans_directory()), planned.config, tp_size);
  require_valid_plan(planned.plan, planned.config, planned.lm_head_stored);
  return planned;
}

int check(const Options& options) {
  const PlannedModel planned = planned_model(options);
  const PlanReport report = plan_report(planned.plan, planned.config, planned.dtype, planned.lm_head_stored);
  for (const std::string& note : planned.plan.plan.notes) std::fprintf(stderr, "tprun: %s\n", note.c_str());
  std::printf("ok: %s fits %s on %d %s; %zu weights, %.1f MiB on each\n", report.plan.c_str(), report.model_type.c_str(),
              report.tp_size, report.tp_size == 1 ? "chip" : "chips", report.weights.size(),
              static_cast<double>(report.bytes_per_chip) / (1 << 20));
  return 0;
}

int show(const Options& options) {
  const PlannedModel planned = planned_model(options);
  const PlanReport report = plan_report(planned.plan, planned.config, planned.dtype, planned.lm_head_stored);
  for (const std::string& note : planned.plan.plan.notes) std::fprintf(stderr, "tprun: %s\n", note.c_str());
  const int64_t rank = options.count("rank").value_or(0);
  if (rank >= report.tp_size)
    throw Error("--rank", std::to_string(rank) + " of " + std::to_string(report.tp_size) + " chips",
                "a number from 0 to " + std::to_string(report.tp_size - 1));
  const std::string output = options.text("output");
  const std::string text = output.ends_with(".html") ? report_html(report)
                           : options.flag("json") || options.text("format") == "json"
                               ? report_json(report)
                               : report_table(report, static_cast<int>(rank));
  if (output.empty()) {
    std::fputs(text.c_str(), stdout);
    return 0;
  }
  std::ofstream file(output, std::ios::binary);
  if (!(file << text).flush()) throw Error("--output", output + " cannot be written", "name a file in a directory that can");
  return 0;
}

}  // namespace

int run_plan(const Options& options) {
  if (options.action == "check") return check(options);
  if (options.action == "show") return show(options);
  throw Error("plan " + options.action, "this version does not have it yet", "plan check, plan show");
}

}  // namespace tp
