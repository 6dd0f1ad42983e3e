// tprun-aot: compiles a model's programs for chips that are not here. Started by `tprun plan aot` (aot_request.h), because
// libtpu can end the process that loads it. `tprun-aot --coordinates PLUGIN` tells where in their slice the chips of this host
// are, in a line "coordinates: 0,2,0"; a process of its own does it, since the chips are held as long as it lives.
#include <cstdio>
#include <iostream>
#include <iterator>

#include "runtime/aot_kernels.h"
#include "runtime/aot_plan.h"
#include "runtime/aot_report.h"
#include "runtime/pjrt_client.h"
#include "sharding/error.h"

namespace {

void print(const std::string& out) {
  std::fwrite(out.data(), 1, out.size(), stdout);
  std::fflush(stdout);
}

int run(const tp::AotRequest& request) {
  const auto progress = [](const std::string& step) { std::fprintf(stderr, "tprun: %s\n", step.c_str()); };
  switch (request.task) {
    case tp::AotRequest::Task::kTrace:
      tp::trace_with_kernels(request);
      return 0;
    case tp::AotRequest::Task::kKernels:
      print(tp::compile_kernels(request, progress));
      return 0;
    case tp::AotRequest::Task::kPlan:
      break;
  }
  const tp::AotReport report = tp::run_aot(request, progress);
  print(request.json ? tp::aot_json(report) : tp::aot_table(report));
  return report.fits ? 0 : tp::kExitRefused;
}

int tell_coordinates(const std::string& plugin) {
  const auto client = tp::PjrtClient::create(tp::PjrtPlugin::load(plugin));
  std::string line;
  for (const int64_t one : client->coordinates(client->addressable_devices().front()))
    line += (line.empty() ? "coordinates: " : ",") + std::to_string(one);
  if (!line.empty()) print(line + "\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 3 && std::string(argv[1]) == "--coordinates") return tell_coordinates(argv[2]);
    const std::string text(std::istreambuf_iterator<char>(std::cin), {});
    const tp::AotRequest request = tp::aot_request_from_json(text);
    return run(request);
  } catch (const tp::Error& error) {
    std::fprintf(stderr, "tprun: error: %s\n", error.text().c_str());
    return tp::kExitRefused;
  }
}
