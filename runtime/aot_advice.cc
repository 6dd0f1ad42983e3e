#include "runtime/aot_advice.h"

#include <optional>
#include <vector>

#include "runtime/aot_model.h"
#include "sharding/error.h"

namespace tp {
namespace {

// Memory limits of the compiler, bytes of one device; a report of the topology itself wins over it.
int64_t known_limit(const std::string& generation) {
  if (generation == "v4") return 32745971712;
  if (generation == "v5e") return 16909334528;
  if (generation == "v6e") return 33546041344;
  if (generation == "v5p") return 102786660352;
  return 101724450816;  // v7
}

std::string gigabytes(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f GiB", static_cast<double>(bytes) / (1 << 30));
  return text;
}

// Argument bytes of one device, nullopt where the plan does not allow tp_size.
std::optional<int64_t> need(const AotRequest& request, int tp_size, int64_t batch, int64_t cache_len) {
  try {
    return argument_bytes(AotModel(request, tp_size).decode(batch, cache_len)).all;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// The smallest topology of `generation` with more devices (any, if it is another generation) that holds the request.
const AotTopology* roomier(const AotRequest& request, const AotReport& report, const std::string& generation,
                           int64_t work_bytes) {
  for (const AotTopology& topology : aot_topologies()) {
    const bool same = generation == report.topology.generation;
    if (topology.generation != generation || (same && topology.devices <= report.tp_size)) continue;
    const auto bytes = need(request, topology.devices, report.batch, report.cache_len);
    if (bytes && *bytes + work_bytes <= known_limit(generation)) return &topology;
  }
  return nullptr;
}

// The largest value in [1, most) for which `fits` is true; 0 if none is.
template <class Fits>
int64_t largest(int64_t most, Fits fits) {
  int64_t low = 0, high = most;
  while (high - low > 1) {
    const int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace

std::string aot_advice(const AotRequest& request, const AotReport& report, int64_t work_bytes) {
  std::vector<std::string> ways;
  const int64_t limit = report.programs.front().limit_bytes;
  const AotTopology* more = roomier(request, report, report.topology.generation, work_bytes);
  if (more != nullptr) ways.push_back("more chips: --topology " + more->name);
  const int64_t fixed = report.weights_bytes + work_bytes, per_position = report.cache_bytes / report.cache_len;
  const int64_t cache_len = largest(report.cache_len, [&](int64_t n) { return fixed + n * per_position <= limit; });
  if (cache_len > 0) ways.push_back("a shorter cache: --cache-len " + std::to_string(cache_len));
  const int64_t per_slot = report.cache_bytes / report.batch;
  const int64_t batch = largest(report.batch, [&](int64_t n) { return fixed + n * per_slot <= limit; });
  if (batch > 0) ways.push_back("a smaller batch: --batch " + std::to_string(batch));
  if (ways.empty()) {
    for (const char* generation : {"v6e", "v4", "v5p", "v7"}) {
      if (generation == report.topology.generation) continue;
      const AotTopology* other = roomier(request, report, generation, work_bytes);
      if (other != nullptr) ways.push_back("other chips: --topology " + other->name);
    }
  }
  std::string text;
  for (const std::string& way : ways) text += (text.empty() ? "" : "; ") + way;
  if (!text.empty()) return text;
  return "no topology holds " + gigabytes(report.weights_bytes) + " of weights and " +
         gigabytes(report.cache_bytes) + " of cache on each of its devices";
}

}  // namespace tp
