#pragma once

#include "sharding/plan.h"

namespace tp {

// Parameters that belong to heads and have no rule (attention sinks, q/k norms with a weight for each head) are cut as the
// projection beside them is.
void follow_heads(ResolvedPlan& plan);

// For a plan with `uneven: allow`: where tp_size does not divide the KV heads of a layer, sets heads_per_group of its
// attention's modules, so that styles which cut heads deal them out in whole KV groups (a KV head and the query heads that read
// it): ceil(kv_heads / tp_size) groups a rank, fewer on the last ones, padded to equal shapes. Attention with `kv_replicated`
// is left alone.
void deal_out_heads(ResolvedPlan& plan);

}  // namespace tp
