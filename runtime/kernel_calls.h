#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace tp {

// How often operations for which a job has a kernel ran, by operation and then by what ran: the kernel's package or kBuiltIn.
using KernelCalls = std::map<std::string, std::map<std::string, int64_t>>;
inline constexpr const char* kBuiltIn = "builtin";

inline void add_calls(KernelCalls& sum, const KernelCalls& more) {
  for (const auto& [op, kernels] : more)
    for (const auto& [kernel, calls] : kernels) sum[op][kernel] += calls;
}

}  // namespace tp
