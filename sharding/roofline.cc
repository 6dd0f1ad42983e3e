#include "sharding/roofline.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "sharding/report_groups.h"

namespace tp {
namespace {

// Interchip bandwidth is published in Gbit/s of a chip.
constexpr double gbit(double value) {
  return value * 1e9 / 8;
}

constexpr std::array<DeviceLimits, 5> kLimits = {{
    {"v4", 1228e9, 275e12, gbit(2400)},
    {"v5e", 819e9, 197e12, gbit(1600)},
    {"v5p", 2765e9, 459e12, gbit(4800)},
    {"v6e", 1640e9, 918e12, gbit(3584)},
    {"v7", 7380e9 / 2, 2307e12 / 2, gbit(9600) / 2},
}};

std::string milliseconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f ms", seconds * 1e3);
  return text;
}

}  // namespace

const DeviceLimits* published_limits(std::string_view generation) {
  const auto found =
      std::find_if(kLimits.begin(), kLimits.end(), [&](const DeviceLimits& limits) { return limits.generation == generation; });
  return found == kLimits.end() ? nullptr : &*found;
}

double StepBound::seconds() const {
  return std::max({read_s, flops_s, link_s});
}

std::string_view StepBound::limited_by() const {
  if (seconds() == read_s) return "reading";
  return seconds() == flops_s ? "arithmetic" : "links";
}

StepBound step_bound(const DeviceLimits& limits, const StepNeed& need) {
  return {std::string(limits.generation), need, static_cast<double>(need.read_bytes) / limits.read_bytes_per_s,
          need.flops / limits.flops_per_s, need.link_bytes / limits.link_bytes_per_s};
}

std::string bound_text(const StepBound& bound) {
  char rate[32], flops[32];
  std::snprintf(rate, sizeof(rate), "%.0f", 1 / bound.seconds());
  std::snprintf(flops, sizeof(flops), "%.2f", bound.need.flops / 1e9);
  return "bound on " + bound.generation + " for one sequence, from published numbers and not measured: at most " + rate +
         " tokens/s, by " + std::string(bound.limited_by()) + "\n  each chip per token: reads " +
         size_text(bound.need.read_bytes) + " (" + milliseconds(bound.read_s) + "), " + flops + " GFLOP (" +
         milliseconds(bound.flops_s) + "), sends " + size_text(static_cast<int64_t>(bound.need.link_bytes)) + " (" +
         milliseconds(bound.link_s) + ")\n";
}

}  // namespace tp
