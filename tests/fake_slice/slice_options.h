#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace tp::fake_slice {

// What the environment says; the variables without TPRUN_ in their names are those that libtpu reads.
struct SliceOptions {
  int rank = 0;        // CLOUD_TPU_TASK_ID
  int world_size = 1;  // number of TPU_PROCESS_ADDRESSES
  std::string job;     // tells this job from others on the host: the addresses and TORCH_TPU_XPROF_SESSION_ID
  std::chrono::milliseconds timeout = std::chrono::seconds(60);  // TPRUN_FAKE_SLICE_TIMEOUT, in seconds
  int64_t memory_bytes = 0;  // TPRUN_FAKE_SLICE_MEMORY: buffers beyond it are refused; 0 = no limit
  int64_t fail_call = 0;     // TPRUN_FAKE_SLICE_FAIL_CALL: the execution that fails, from 1; 0 = none
  int fail_rank = 0;         // TPRUN_FAKE_SLICE_FAIL_RANK: on this rank
};

// TPRUN_FAKE_SLICE_PLUGIN, else the CPU plugin that the build found. Asked before a client is made: programs set the other
// variables later.
std::string inner_plugin_from_environment();

// TPRUN_FAKE_SLICE_COORDS ("0,2,0"): where the own chip is in the slice; empty when it is not set. Throws SliceError.
std::vector<int64_t> coordinates_from_environment();

// Throws SliceError for a value that is no number or a rank outside of the world.
SliceOptions options_from_environment();

}  // namespace tp::fake_slice
