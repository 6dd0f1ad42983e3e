#include "launcher/plan_aot.h"

#include <filesystem>

#include "launcher/aot_child.h"
#include "launcher/checked_model.h"
#include "launcher/compiled_options.h"
#include "launcher/count_list.h"
#include "launcher/device_choice.h"
#include "launcher/kernel_options.h"
#include "launcher/libtpu.h"
#include "launcher/model_path.h"
#include "launcher/plan_tp_size.h"
#include "launcher/program_path.h"
#include "runtime/aot_request.h"
#include "sharding/error.h"

namespace tp {
namespace {

AotRequest request_of(const Options& options) {
  if (!options.given("topology")) throw Error("--topology", "plan aot needs it", "for example --topology v5e:2x2");
  if (options.count("batch") == 0) throw Error("--batch", "0 is not a number of prompts", "1 or more");
  if (options.count("cache-len") == 0) throw Error("--cache-len", "0 is not a number of positions", "1 or more");
  refuse_what_programs_lack(options);
  AotRequest request;
  request.tp_size = plan_tp_size(options);
  request.model = resolve_model(options.text("model"), true).string();
  request.plans_dir = plans_directory().string();
  request.plan = plan_request(options);
  request.dtype = options.text("dtype");
  request.weights = options.text("weights");
  request.topology = options.text("topology");
  request.cache_len = options.count("cache-len").value_or(0);
  request.batch = options.count("batch").value_or(1);
  request.prefill = count_list(options, "prefill");
  request.json = options.flag("json") || options.text("format") == "json";
  request.dump_hlo = options.text("dump-hlo");
  if (options.given("pjrt-plugin")) {
    request.libtpu = std::filesystem::absolute(options.text("pjrt-plugin")).string();
    require_pjrt_plugin(request.libtpu, "--pjrt-plugin");
  } else {
    request.libtpu = find_libtpu();
  }
  request.kernels = kernel_sources(options, "tpu");
  return request;
}

}  // namespace

int plan_aot(const Options& options) {
  const AotRequest request = request_of(options);
  if (!request.kernels.empty()) check_packages(request.kernels, request.libtpu);
  return run_aot_child(request);
}

}  // namespace tp
