#pragma once

#include <cstdint>

namespace tp {

// A token and its logit, as ranks that hold parts of the vocabulary compare them.
struct LargestLogit {
  int32_t id = -1;  // -1 = none
  float logit = 0;
};

// The largest of logits[0, count) that is not -infinity, with ids from first_id on; ties take the lower id. A NaN counts as
// larger than any number, so that it is seen.
LargestLogit largest_logit(const float* logits, int64_t count, int64_t first_id);

// The larger one of two; `a` comes from lower ids.
LargestLogit larger_logit(const LargestLogit& a, const LargestLogit& b);

// The id of the largest logit of all; throws Error when it is none or not a number.
int32_t require_token(const LargestLogit& largest);

}  // namespace tp
