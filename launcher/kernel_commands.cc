#include "launcher/kernel_commands.h"

#include <cstdio>

#include "launcher/aot_child.h"
#include "launcher/kernel_options.h"
#include "launcher/libtpu.h"
#include "runtime/aot_topology.h"
#include "runtime/kernel_package.h"
#include "sharding/error.h"

namespace tp {
namespace {

void print_package(const KernelPackage& package) {
  std::string head = package.name + " " + package.version + " (" + package.license + "): replaces " + package.op;
  if (!package.jax.empty()) head += "; exported with jax " + package.jax;
  if (package.mosaic > 0) head += ", Mosaic " + std::to_string(package.mosaic);
  if (!package.min_libtpu.empty()) head += "; needs libtpu " + package.min_libtpu;
  std::printf("%s\n", head.c_str());
  for (const std::string& build : package.builds) std::printf("  torch operators: build/%s\n", build.c_str());
  for (const KernelVariant& variant : package.variants) {
    std::string match;
    for (const auto& [name, value] : variant.match) match += " " + name + "=" + value;
    std::printf("  %s:%s\n", variant.platform.c_str(), match.c_str());
  }
}

std::string plugin_of(const Options& options) {
  return options.given("pjrt-plugin") ? options.text("pjrt-plugin") : find_libtpu();
}

}  // namespace

int run_kernels(const Options& options) {
  const std::vector<KernelSource> sources = kernel_sources(options, "tpu");
  if (sources.empty()) throw Error("kernels " + options.action, "which packages?", "tprun kernels " + options.action + " DIR");
  const bool compile = options.given("topology");
  if (compile) aot_topology(options.text("topology"));
  const bool check = options.action == "check";
  if (check) check_packages(sources, compile ? plugin_of(options) : "");
  for (const KernelSource& source : sources) print_package(read_kernel_package(source.package));
  if (!check) return 0;
  for (const KernelSource& source : sources) {
    if (!read_kernel_package(source.package).builds.empty() && !library_loads(source)) return kExitRefused;
  }
  std::printf("digests, functions and signatures are right\n");
  std::fflush(stdout);
  if (!compile) return 0;
  AotRequest request;
  request.task = AotRequest::Task::kKernels;
  request.libtpu = plugin_of(options);
  request.topology = options.text("topology");
  request.kernels = sources;
  return run_aot_child(request);
}

}  // namespace tp
