#include "runtime/aot_kernels.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "runtime/aot_model.h"
#include "runtime/aot_plan.h"
#include "runtime/pjrt_client.h"
#include "runtime/pjrt_topology.h"
#include "runtime/rope.h"
#include "sharding/error.h"

namespace tp {
namespace {

// libtpu would take the chips to answer; another plugin tells for what it compiles.
std::string platform_of(const std::string& plugin) {
  if (std::filesystem::path(plugin).filename().string().starts_with("libtpu")) return "tpu";
  return PjrtClient::create(PjrtPlugin::load(plugin))->platform_name();
}

// A program that calls the kernel with its own arguments.
std::string program_of(const KernelVariant& variant, const std::string& text) {
  const std::vector<std::string> operands = operand_types(variant.signature), results = result_types(variant.signature);
  std::string arguments, names, types, values;
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::string name = "%a" + std::to_string(i), comma = i == 0 ? "" : ", ";
    const auto alias = variant.aliases.find(static_cast<int>(i));
    arguments += comma + name + ": " + operands[i];
    if (alias != variant.aliases.end()) arguments += " {tf.aliasing_output = " + std::to_string(alias->second) + " : i32}";
    names += comma + name;
    types += comma + operands[i];
  }
  for (size_t i = 0; i < results.size(); ++i) values += (i == 0 ? "%r#" : ", %r#") + std::to_string(i);
  const std::string returned = variant.signature.substr(variant.signature.find("->") + 2);
  const std::string listed = results.size() == 1 ? results[0] : returned.substr(1, returned.size() - 2);
  return "module @kernel {\n  func.func public @main(" + arguments + ") -> " + returned +
         " {\n    %r:" + std::to_string(results.size()) + " = func.call @" + variant.symbol + "(" + names + ") : (" + types +
         ") -> " + returned + "\n    return " + values + " : " + listed + "\n  }\n" + text + "}\n";
}

}  // namespace

void trace_with_kernels(const AotRequest& request) {
  const AotModel model(request, static_cast<int>(request.tp_size), platform_of(request.libtpu));
  const LogitsWanted wanted = request.all_logits ? LogitsWanted::kAll : LogitsWanted::kLast;
  std::set<int64_t> buckets;
  for (int64_t length : request.prefill) {
    // `score` has a text of one token as a step.
    if (length > 1 || !request.all_logits) buckets.insert(bucket_of(length, request.cache_len));
  }
  // Where the scaling of the rotation switches, a sequence is computed again as a whole.
  for (int64_t length = 2; length <= request.cache_len && !request.all_logits; ++length) {
    if (rope_needs_rebuild(model.config(), length - 1, length)) buckets.insert(bucket_of(length, request.cache_len));
  }
  for (int64_t bucket : buckets) model.prefill(bucket, request.batch, request.cache_len, wanted);
  // `score` decodes nothing but a prompt of one token.
  if (!request.all_logits || std::ranges::find(request.prefill, 1) != request.prefill.end())
    model.decode(request.batch, request.cache_len);
}

std::string compile_kernels(const AotRequest& request, const std::function<void(const std::string&)>& progress) {
  const AotTopology& chips = aot_topology(request.topology);
  prepare_environment(chips);
  const PjrtTopology topology(PjrtPlugin::load(request.libtpu), chips.libtpu_name, static_cast<size_t>(chips.devices));
  std::string report;
  for (const KernelSource& source : request.kernels) {
    const KernelPackage package = read_kernel_package(source.package);
    for (const KernelVariant& variant : package.variants) {
      if (variant.platform != "tpu") continue;
      progress("compiling " + variant.file + " for " + chips.name);
      try {
        const CompiledMemory memory = topology.compile(program_of(variant, variant_text(package, variant)), 1).memory();
        report += package.name + ": " + variant.file + " compiles for " + chips.name + "; temporaries " +
                  std::to_string(memory.temp_bytes) + " bytes, peak " + std::to_string(memory.peak_bytes) + "\n";
      } catch (const Error& error) {
        throw Error((package.dir / variant.file).string(), "does not compile for " + chips.name + ": " + error.message());
      }
    }
  }
  return report;
}

}  // namespace tp
