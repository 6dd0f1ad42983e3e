#pragma once

#include <cstdint>
#include <string>

#include "runtime/aot_plan.h"

namespace tp {

// What would fit where the request does not, computed from the arguments of the programs that other chips, caches and batches
// would give, with `work_bytes` (results and temporaries) kept free: "8 chips (v5e:2x4); --cache-len 1024; --batch 2". A
// sentence that says so when nothing would.
std::string aot_advice(const AotRequest& request, const AotReport& report, int64_t work_bytes);

}  // namespace tp
