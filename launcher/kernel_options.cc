#include "launcher/kernel_options.h"

#include <algorithm>

#include "launcher/aot_child.h"
#include "launcher/libtpu.h"
#include "launcher/model_path.h"
#include "runtime/kernel_package.h"
#include "sharding/error.h"
#include "sharding/plan_kernels.h"
#include "sharding/plan_suggest.h"

namespace tp {

std::vector<KernelSource> kernel_sources(const Options& options, const std::string& device) {
  std::vector<KernelSource> sources;
  for (const std::string& name : options.texts("kernels")) sources.push_back({resolve_kernels(name, "--kernels")});
  // A suggested plan has none.
  const std::string plan = options.text("plan");
  if (plan.empty() || plan == kSuggestedPlan) return sources;
  for (const PlanKernel& kernel : read_plan_kernels(plan)) {
    if (!kernel.backend.empty() && kernel.backend != device) continue;
    const KernelSource source{resolve_kernels(kernel.package, kernel.where), kernel.built_in, kernel.operator_name};
    const std::string replaced = read_kernel_package(source.package).op;
    if (replaced != kernel.op) {
      throw Error(kernel.where, source.package + " replaces `" + replaced + "`, not `" + kernel.op + "`",
                  "write `" + replaced + ": " + kernel.package + "`");
    }
    sources.push_back(source);
  }
  return sources;
}

void check_packages(const std::vector<KernelSource>& sources, const std::string& plugin) {
  for (const KernelSource& source : sources) {
    const KernelPackage package = read_kernel_package(source.package);
    for (const KernelVariant& variant : package.variants) variant_text(package, variant);
    if (const std::string version = libtpu_version(plugin); !version.empty()) require_libtpu_for(package, version);
  }
}

bool library_loads(const KernelSource& source) {
  AotRequest request;
  request.task = AotRequest::Task::kKernels;
  request.kernels = {source};
  return run_operator_child(request) == 0;
}

namespace {

// Lengths of the calls that `score` makes of a text: the window's, and what is left for the last one.
std::vector<int64_t> window_lengths(const Job& job, int64_t tokens) {
  const int64_t window = job.score_window;
  if (window == 0 || tokens <= window) return {tokens};
  const int64_t last = (tokens - window + job.score_stride - 1) / job.score_stride * job.score_stride;
  return {window, tokens - last};
}

std::vector<int64_t> prefill_lengths(const Job& job) {
  if (job.command == "bench") {
    std::vector<int64_t> lengths = job.bench_prompts;
    lengths.push_back(std::min<int64_t>(16, lengths[0]));  // it warms up with a short one
    return lengths;
  }
  std::vector<int64_t> lengths;
  for (const JobPrompt& prompt : job.prompts) {
    if (prompt.ids.empty()) continue;
    for (int64_t length : window_lengths(job, static_cast<int64_t>(prompt.ids.size()))) lengths.push_back(length);
  }
  // Prompts that come later may have any length.
  if (job.command == "serve" || job.command == "chat") {
    for (int64_t length = 2; length < job.cache_len; length *= 2) lengths.push_back(length);
    lengths.push_back(job.cache_len);
  }
  return lengths;
}

}  // namespace

bool kernels_fit(const Job& job, int tp_size) {
  AotRequest request;
  request.task = AotRequest::Task::kTrace;
  request.libtpu = job.pjrt_plugin;
  request.model = job.model_dir;
  request.plans_dir = job.plans_dir;
  request.plan = job.plan;
  request.dtype = job.dtype;
  request.weights = job.weights;
  request.tp_size = tp_size;
  request.cache_len = job.cache_len;
  request.batch = slots_of(job);
  request.prefill = prefill_lengths(job);
  request.all_logits = job.command == "score";
  request.kernels = job.kernels;
  return (job.device == "cpu" ? run_operator_child(request) : run_aot_child(request)) == 0;
}

}  // namespace tp
