// tprun-aot: compiles a model's programs for chips that are not here. Started by `tprun plan aot` (aot_request.h), because
// libtpu can end the process that loads it.
#include <cstdio>
#include <iostream>
#include <iterator>

#include "runtime/aot_plan.h"
#include "runtime/aot_report.h"
#include "sharding/error.h"

int main() {
  try {
    const std::string text(std::istreambuf_iterator<char>(std::cin), {});
    const tp::AotRequest request = tp::aot_request_from_json(text);
    const tp::AotReport report =
        tp::run_aot(request, [](const std::string& step) { std::fprintf(stderr, "tprun: %s\n", step.c_str()); });
    const std::string out = request.json ? tp::aot_json(report) : tp::aot_table(report);
    std::fwrite(out.data(), 1, out.size(), stdout);
    std::fflush(stdout);
    return report.fits ? 0 : tp::kExitRefused;
  } catch (const tp::Error& error) {
    std::fprintf(stderr, "tprun: error: %s\n", error.text().c_str());
    return tp::kExitRefused;
  }
}
