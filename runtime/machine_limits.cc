#include "runtime/machine_limits.h"

#include "runtime/cpu/machine_speed.h"

namespace tp {
namespace {

// More than the last cache of today's processors, for each rank.
constexpr int64_t kBytes = int64_t{256} << 20;
constexpr int kPasses = 6;

}  // namespace

MachineLimits measure_limits(cpu::ThreadPool& pool, Communicator& communicator) {
  const cpu::TimedTogether together{
      [&] { communicator.barrier(); },
      [&](double seconds) { return static_cast<double>(communicator.max(static_cast<int64_t>(seconds * 1e9))) / 1e9; }};
  const double ranks = communicator.world_size();
  MachineLimits limits;
  limits.read_bytes_per_s = ranks * cpu::read_bandwidth(kBytes, kPasses, pool, together);
  limits.flops_per_s = ranks * cpu::multiply_add_peak({pool, cpu::KernelChoice::only(cpu::widest_vectors())}, together);
  return limits;
}

}  // namespace tp
