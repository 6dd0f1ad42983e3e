#include "runtime/largest_logit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "sharding/error.h"

namespace tp {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

// Side by side, as one comparison after the other would wait for its result. A NaN is never greater.
float largest_number(const float* logits, int64_t count) {
  constexpr int kLanes = 16;
  float lanes[kLanes];
  std::fill(lanes, lanes + kLanes, kNever);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = logits[i + lane] > lanes[lane] ? logits[i + lane] : lanes[lane];
  for (; i < count; ++i) lanes[0] = std::max(lanes[0], logits[i]);
  return *std::max_element(lanes, lanes + kLanes);
}

}  // namespace

LargestLogit largest_logit(const float* logits, int64_t count, int64_t first_id) {
  bool numbers = true;
  for (int64_t i = 0; i < count; ++i) numbers &= logits[i] == logits[i];
  const float largest = largest_number(logits, count);
  if (numbers && largest == kNever) return {};
  const float* at = numbers ? std::find(logits, logits + count, largest)
                            : std::find_if(logits, logits + count, [](float logit) { return std::isnan(logit); });
  return {static_cast<int32_t>(first_id + (at - logits)), *at};
}

LargestLogit larger_logit(const LargestLogit& a, const LargestLogit& b) {
  if (b.id < 0 || std::isnan(a.logit)) return a;
  return a.id < 0 || std::isnan(b.logit) || b.logit > a.logit ? b : a;
}

int32_t require_token(const LargestLogit& largest) {
  if (largest.id < 0) throw Error("sampling", "no token is left to choose from");
  if (std::isnan(largest.logit))
    throw Error("sampling", "the logit of token " + std::to_string(largest.id) + " is not a number");
  return largest.id;
}

}  // namespace tp
