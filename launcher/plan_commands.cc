#include "launcher/plan_commands.h"

#include <cstdio>

#include "launcher/checked_model.h"
#include "launcher/model_path.h"
#include "launcher/plan_aot.h"
#include "launcher/plan_tp_size.h"
#include "launcher/program_path.h"
#include "launcher/write_file.h"
#include "runtime/aot_topology.h"
#include "sharding/error.h"
#include "sharding/plan_check.h"
#include "sharding/plan_report.h"
#include "sharding/plan_suggest.h"
#include "sharding/report_groups.h"

namespace tp {
namespace fs = std::filesystem;
namespace {

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
  std::vector<std::string> notes;
};

PlannedModel planned_model(const Options& options, int tp_size) {
  const fs::path model = resolve_model(options.text("model"), true);
  PlannedModel planned;
  if (has_weights(model)) {
    CheckedModel checked = check_model(options, tp_size);
    planned.lm_head_stored = checked.lm_head_stored;
    planned.notes = std::move(checked.notes);
    planned.dtype = resolve_dtype(options.text("dtype"), checked.config, checked.checkpoint);
    planned.config = std::move(checked.config);
    planned.plan = std::move(checked.plan);
    return planned;
  }
  planned.config = load_model_config(model);
  planned.lm_head_stored = !planned.config.tie_word_embeddings;
  const std::string dtype = options.text("dtype");
  planned.dtype = dtype == "auto" ? planned.config.dtype.value_or(DType::kBF16) : dtype_from_torch(dtype, "--dtype");
  planned.plan = valid_plan(options, planned.config, tp_size, planned.lm_head_stored, nullptr);
  planned.notes = planned.plan.plan.notes;
  planned.notes.insert(planned.notes.end(), planned.config.warnings.begin(), planned.config.warnings.end());
  return planned;
}

// The plan must be valid; its notes are told.
PlanReport report_of(const Options& options) {
  const PlannedModel planned = planned_model(options, plan_tp_size(options));
  for (const std::string& note : planned.notes) std::fprintf(stderr, "tprun: %s\n", note.c_str());
  return plan_report(planned.plan, planned.config, planned.dtype, planned.lm_head_stored,
                     options.text("cache-dtype") == "int8");
}

int check(const Options& options) {
  const PlanReport report = report_of(options);
  std::printf("OK: %s fits %s on %d %s: %zu weights, %s on each chip\n", report.plan.c_str(), report.model_type.c_str(),
              report.tp_size, report.tp_size == 1 ? "chip" : "chips", report.weights.size(),
              size_text(report.bytes_per_chip).c_str());
  return 0;
}

int show(const Options& options) {
  PlanReport report = report_of(options);
  if (options.given("topology")) {
    if (const DeviceLimits* limits = published_limits(aot_topology(options.text("topology")).generation))
      report.bound = step_bound(*limits, report.step);
  }
  const int64_t rank = options.count("rank").value_or(0);
  if (rank >= report.tp_size)
    throw Error("--rank", std::to_string(rank) + " of " + std::to_string(report.tp_size) + " chips",
                "a number from 0 to " + std::to_string(report.tp_size - 1));
  const std::string html = options.text("html"), output = options.text("output");
  if (!html.empty()) write_file("--html", html, report_html(report));
  const bool json = options.flag("json") || options.text("format") == "json";
  if (!html.empty() && !json && output.empty()) return 0;  // the page is all that was asked for
  const std::string text = json ? report_json(report) : report_table(report, static_cast<int>(rank));
  if (output.empty()) {
    std::fputs(text.c_str(), stdout);
  } else {
    write_file("--output", output, text);
  }
  return 0;
}

int suggest(const Options& options) {
  for (const char* option : {"plan", "override", "tied"}) {
    if (options.given(option))
      throw Error("--" + std::string(option), "plan suggest makes a plan of its own",
                  "plan check or plan show, with --plan auto for the suggested one");
  }
  const int tp_size = plan_tp_size(options);
  const fs::path model = resolve_model(options.text("model"), true);
  const ModelConfig config = load_model_config(model);
  const bool lm_head_stored =
      has_weights(model) ? has_lm_head(open_checkpoint(model), module_tree(config)) : !config.tie_word_embeddings;
  std::fputs(suggest_plan(config, plans_directory(), tp_size, lm_head_stored).yaml.c_str(), stdout);
  return 0;
}

// What an action does not read is refused: a report that nobody writes must not look like one.
void refuse_unread(const Options& options) {
  if (options.given("html") && options.action != "show") throw Error("--html", "is for plan show", "plan show --html FILE");
  if (options.action == "show" || options.action == "aot") return;
  for (const char* option : {"json", "format", "output"}) {
    if (options.given(option))
      throw Error("--" + std::string(option), "is for plan show and plan aot", "plan show --json tells what each chip holds");
  }
}

}  // namespace

int run_plan(const Options& options) {
  refuse_unread(options);
  if (options.action == "check") return check(options);
  if (options.action == "show") return show(options);
  if (options.action == "suggest") return suggest(options);
  return plan_aot(options);
}

}  // namespace tp
