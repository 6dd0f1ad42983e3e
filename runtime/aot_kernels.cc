#include "runtime/aot_kernels.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "runtime/aot_model.h"
#include "runtime/aot_plan.h"
#include "runtime/pjrt_client.h"
#include "runtime/pjrt_topology.h"
#include "sharding/error.h"

namespace tp {
namespace {

// libtpu would take the chips to answer; another plugin tells for what it compiles.
std::string platform_of(const std::string& plugin) {
  if (std::filesystem::path(plugin).filename().string().starts_with("libtpu")) return "tpu";
  return PjrtClient::create(PjrtPlugin::load(plugin))->platform_name();
}

// The operand types of "(A,B)->C".
std::vector<std::string> operand_types(const std::string& signature) {
  std::vector<std::string> types;
  const size_t end = signature.find(")->");
  for (size_t at = 1; at < end;) {
    const size_t next = std::min(signature.find(',', at), end);
    types.push_back(signature.substr(at, next - at));
    at = next + 1;
  }
  return types;
}

// A program that calls the kernel with its own arguments.
std::string program_of(const KernelVariant& variant, const std::string& text) {
  const std::string result = variant.signature.substr(variant.signature.find(")->") + 3);
  std::string arguments, names, types;
  int count = 0;
  for (const std::string& type : operand_types(variant.signature)) {
    const std::string name = "%a" + std::to_string(count++), comma = names.empty() ? "" : ", ";
    arguments += comma + name + ": " + type;
    names += comma + name;
    types += comma + type;
  }
  return "module @kernel {\n  func.func public @main(" + arguments + ") -> " + result + " {\n    %r = func.call @" +
         variant.symbol + "(" + names + ") : (" + types + ") -> " + result + "\n    return %r : " + result + "\n  }\n" + text +
         "}\n";
}

}  // namespace

void trace_with_kernels(const AotRequest& request) {
  const AotModel model(request, static_cast<int>(request.tp_size), platform_of(request.libtpu));
  const LogitsWanted wanted = request.all_logits ? LogitsWanted::kAll : LogitsWanted::kLast;
  std::set<int64_t> buckets;
  for (int64_t length : request.prefill) buckets.insert(bucket_of(length, request.cache_len));
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
