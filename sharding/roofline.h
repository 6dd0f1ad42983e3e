#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tp {

// What the maker publishes of one device (a TensorCore pair of a v7 chip is two devices): cloud.google.com/tpu/docs, the page
// of each generation.
struct DeviceLimits {
  std::string_view generation;
  double read_bytes_per_s = 0;  // HBM
  double flops_per_s = 0;       // bfloat16
  double link_bytes_per_s = 0;  // all interchip links together
};

// nullptr for a generation that is not in the table.
const DeviceLimits* published_limits(std::string_view generation);

// What one decode step of one sequence needs on each device.
struct StepNeed {
  int64_t read_bytes = 0;
  double flops = 0;
  double link_bytes = 0;  // that a device sends: a ring's share of every collective
};

// No step can be faster than the slowest of the three, however they overlap. A bound from published numbers, not a measurement.
struct StepBound {
  std::string generation;
  StepNeed need;
  double read_s = 0, flops_s = 0, link_s = 0;

  double seconds() const;
  std::string_view limited_by() const;  // "reading", "arithmetic" or "links"
};

StepBound step_bound(const DeviceLimits& limits, const StepNeed& need);

// "bound on v5e, from published numbers and not measured: …"; ends with a newline.
std::string bound_text(const StepBound& bound);

}  // namespace tp
