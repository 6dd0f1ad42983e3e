#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/device_tensors.h"
#include "runtime/engine.h"
#include "runtime/ops_stablehlo.h"
#include "runtime/pjrt_client.h"
#include "runtime/program_store.h"

namespace tp {

// One value on the devices of this process: a buffer per device.
using DeviceBuffers = std::vector<PjrtBuffer>;

// Executes programs on all devices of this process: feeds weights and caches from `tensors`, the batch's positions and
// rotations from the host, and keeps the caches that a program returns.
class ProgramRunner {
 public:
  // The references must outlive this. Collectives are counted in `communicator`.
  ProgramRunner(const RankModel& model, std::shared_ptr<const PjrtClient> client, DeviceTensors& tensors, ProgramStore& store,
                Communicator& communicator);

  // `batch` is of the program's shape; `values[i]` is what its i-th value input takes. Returns result 0.
  DeviceBuffers run(const HloProgram& program, const Batch& batch, const std::vector<const DeviceBuffers*>& values = {});

  // So far.
  const KernelCalls& kernel_calls() const { return kernel_calls_; }

 private:
  PjrtBuffer upload(const HloInput& input, const Batch& batch, size_t device) const;

  const RankModel& model_;
  std::shared_ptr<const PjrtClient> client_;
  DeviceTensors& tensors_;
  ProgramStore& store_;
  Communicator& communicator_;
  KernelCalls kernel_calls_;
};

}  // namespace tp
