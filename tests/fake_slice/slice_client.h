#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/pjrt_call.h"
#include "tests/fake_slice/slice_buffers.h"
#include "tests/fake_slice/slice_mesh.h"
#include "tests/fake_slice/slice_options.h"

namespace tp::fake_slice {

// This rank's client: the inner plugin's client with one device for every rank of the job, of which only the own one is shown
// as addressable. A program over several devices is run by every rank for all of them, on inputs that the ranks swapped, and
// each keeps its own outputs. Collectives thus stay inside one process, where the inner plugin can do them.
class SliceClient {
 public:
  // Creates the inner client and meets the other ranks. `client` is the handle that callers get.
  SliceClient(const PjrtPlugin& plugin, const SliceOptions& options);
  ~SliceClient();

  PJRT_Client* client() const { return client_; }
  int rank() const { return options_.rank; }
  PJRT_Device* const* own_device() const { return &devices_[static_cast<size_t>(options_.rank)]; }

  // Notes the devices of a new program.
  void add_program(PJRT_LoadedExecutable* executable);
  void remove_program(PJRT_LoadedExecutable* executable);
  // True for programs that run on this rank's device and others.
  bool is_shared(PJRT_LoadedExecutable* executable);
  // Runs a program. Throws SliceError or Error.
  void execute(const PJRT_LoadedExecutable_Execute_Args& args);

  void add_buffer(PJRT_Buffer* buffer);
  void remove_buffer(PJRT_Buffer* buffer);

 private:
  struct Program {
    std::vector<int> ranks;  // in the order of its devices
    size_t own_index = 0;    // of this rank in `ranks`
    bool shared = false;
    size_t num_outputs = 0;
    std::string name;
    int64_t calls = 0;
  };
  // Argument lists for the inner plugin, and where each peer wants its outputs to be numbered from.
  struct Gathered {
    std::vector<std::vector<PJRT_Buffer*>> arguments;
    std::map<int, uint64_t> first_output_ids;
  };

  int rank_of(PJRT_Device* device) const;
  void fail_as_asked();
  Gathered swap_arguments(Program& program, const PJRT_LoadedExecutable_Execute_Args& args, uint64_t first_output_id);
  void run_shared(Program& program, const PJRT_LoadedExecutable_Execute_Args& args);

  const PjrtPlugin& plugin_;
  SliceOptions options_;
  PJRT_Client* client_ = nullptr;
  std::vector<PJRT_Device*> devices_;  // by rank
  SliceMesh mesh_;
  std::mutex mutex_;  // guards all below; held through an execution, so that all ranks run programs in one order
  SliceBuffers buffers_;
  std::map<PJRT_LoadedExecutable*, Program> programs_;
  int64_t executions_ = 0;
};

}  // namespace tp::fake_slice
