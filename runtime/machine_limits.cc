#include "runtime/machine_limits.h"

#include <algorithm>

#include "runtime/cpu/machine_speed.h"
#include "sharding/mapped_file.h"

namespace tp {
namespace {

// More than the last cache of today's processors, for each rank.
constexpr int64_t kBytes = int64_t{256} << 20;
constexpr int kPasses = 6;
// Of copying, which finds other pages each time.
constexpr int kCopies = 3;

// Until the last rank is done, on the rank that began first: ranks that share cores may come one after the other.
cpu::TimedTogether together_with(Communicator& communicator) {
  using Clock = cpu::TimedTogether::Clock;
  return {[&] { communicator.barrier(); },
          [&](Clock::time_point begin) {
            communicator.barrier();
            const auto mine = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin);
            return static_cast<double>(communicator.max(mine.count())) / 1e9;
          }};
}

}  // namespace

MachineLimits measure_limits(cpu::ThreadPool& pool, Communicator& communicator) {
  const cpu::TimedTogether together = together_with(communicator);
  const double ranks = communicator.world_size();
  MachineLimits limits;
  limits.read_bytes_per_s = ranks * cpu::read_bandwidth(kBytes, kPasses, pool, together);
  limits.flops_per_s = ranks * cpu::multiply_add_peak({pool, cpu::KernelChoice::only(cpu::widest_vectors())}, together);
  return limits;
}

double measure_copying(const std::filesystem::path& file, cpu::ThreadPool& pool, Communicator& communicator) {
  const cpu::TimedTogether together = together_with(communicator);
  double best = 0;
  for (int copy = 0; copy < kCopies; ++copy) {
    const MappedFile mapped(file);  // anew, as loading finds it
    const int64_t bytes = std::min(kBytes, mapped.size_bytes() / communicator.world_size());
    best = std::max(best, cpu::copy_bandwidth(mapped.data() + communicator.rank() * bytes, bytes, pool, together));
  }
  return communicator.world_size() * best;
}

}  // namespace tp
