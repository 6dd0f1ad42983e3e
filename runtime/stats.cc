#include "runtime/stats.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/output_file.h"
#include "runtime/process_memory.h"

namespace tp {
namespace {

using Json = nlohmann::ordered_json;

Json rank_stats(const RankModel& model, const Engine& engine, const Communicator& communicator) {
  Json collectives;
  for (const char* name : {"all_reduce", "all_gather"}) {
    const auto found = communicator.counts().find(name);
    const CollectiveCount count = found == communicator.counts().end() ? CollectiveCount{} : found->second;
    collectives[name] = {{"count", count.count}, {"bytes", count.bytes}};
  }
  Json stats{{"rank", communicator.rank()},
             {"weights_bytes", model.weights.total_bytes()},
             {"cache_bytes", engine.cache_bytes()},
             {"anonymous_bytes", anonymous_bytes()},
             {"programs_compiled", engine.programs_compiled()},
             {"cache_hits", engine.program_cache_hits()},
             {"collectives", collectives}};
  if (const auto calls = engine.kernel_calls(); !calls.empty()) stats["kernels"] = calls;
  return stats;
}

double rate(int64_t tokens, double seconds) {
  return seconds > 0 ? static_cast<double>(tokens) / seconds : 0.0;
}

}  // namespace

void write_stats(const std::string& path, const std::string& device, const RankModel& model, const Engine& engine,
                 const GenerateTimes& times, Communicator& communicator) {
  const std::vector<std::string> ranks = communicator.collect(rank_stats(model, engine, communicator).dump());
  const double load_s = static_cast<double>(communicator.max(static_cast<int64_t>(model.load_s * 1e6))) / 1e6;
  if (communicator.rank() != 0) return;
  Json stats{{"tp_size", communicator.world_size()}, {"device", device}, {"ranks", Json::array()}};
  for (const std::string& rank : ranks) stats["ranks"].push_back(Json::parse(rank));
  stats["load_s"] = load_s;
  stats["prefill_tokens_per_s"] = rate(times.prefill_tokens, times.prefill_s);
  stats["decode_tokens_per_s"] = rate(times.decode_tokens, times.decode_s);
  OutputFile(path).write(stats.dump(1) + "\n");
}

}  // namespace tp
