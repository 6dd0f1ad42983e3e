#include "launcher/launch_settings.h"

#include <algorithm>
#include <cstdlib>

#include "sharding/error.h"

namespace tp {
namespace {

constexpr int kMostRanks = 4096, kMostThreads = 4096;

int rank_count(const Options& options, int cores) {
  if (!options.given("nproc-per-node")) return 1;
  const std::string text = options.text("nproc-per-node");
  if (text == "auto") return cores;
  char* end = nullptr;
  const long count = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || count < 1 || count > kMostRanks) {
    throw Error("--nproc-per-node", "`" + text + "` is not a number of ranks",
                "a whole number from 1 to " + std::to_string(kMostRanks) + ", or auto");
  }
  return static_cast<int>(count);
}

// OMP_NUM_THREADS may be a list, one number per nesting level.
int threads_of(const Options& options, const std::optional<std::string>& omp, int cores, int nproc) {
  if (const auto given = options.count("threads")) {
    if (*given < 1 || *given > kMostThreads) {
      throw Error("--threads", "`" + std::to_string(*given) + "` is not a number of threads",
                  "a whole number from 1 to " + std::to_string(kMostThreads));
    }
    return static_cast<int>(*given);
  }
  const int from_omp = omp ? std::atoi(omp->c_str()) : 0;
  return from_omp > 0 ? std::min(from_omp, kMostThreads) : std::max(1, cores / nproc);
}

double seconds(const Options& options, const char* name, bool zero_allowed) {
  const double value = *options.number(name);
  if (value < 0 || (value == 0 && !zero_allowed)) {
    throw Error("--" + std::string(name), "`" + options.text(name) + "` is not a time",
                "seconds, " + std::string(zero_allowed ? "0 or more" : "more than 0"));
  }
  return value;
}

}  // namespace

LaunchSettings launch_settings(const Options& options, const std::optional<std::string>& omp_num_threads) {
  LaunchSettings settings;
  settings.cores = usable_cores(usable_cpus());
  settings.nproc = rank_count(options, settings.cores);
  settings.threads_given = options.given("threads");
  settings.threads = threads_of(options, omp_num_threads, settings.cores, settings.nproc);
  settings.timeout_s = seconds(options, "timeout", false);
  settings.grace_s = seconds(options, "grace", true);
  settings.max_restarts = static_cast<int>(std::min<int64_t>(*options.count("max-restarts"), 1000000));
  if (*options.count("nnodes") != 1 || *options.count("node-rank") != 0) {
    throw Error("--nnodes", "this version starts ranks on one host", "leave --nnodes and --node-rank out");
  }
  return settings;
}

}  // namespace tp
