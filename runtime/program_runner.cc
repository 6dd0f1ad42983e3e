#include "runtime/program_runner.h"

#include "runtime/rope.h"

namespace tp {

using Kind = HloInput::Kind;

ProgramRunner::ProgramRunner(const RankModel& model, std::shared_ptr<const PjrtClient> client, DeviceTensors& tensors,
                             ProgramStore& store, Communicator& communicator)
    : model_(model), client_(std::move(client)), tensors_(tensors), store_(store), communicator_(communicator) {}

DeviceBuffers ProgramRunner::run(const HloProgram& program, const Batch& batch,
                                 const std::vector<const DeviceBuffers*>& values) {
  const PjrtProgram& executable = store_.executable(program);
  const size_t devices = client_->addressable_devices().size();
  std::vector<DeviceBuffers> call(devices);
  PjrtArguments arguments(devices);
  for (size_t d = 0; d < devices; ++d) {
    call[d].reserve(program.inputs.size());
    for (const HloInput& input : program.inputs) {
      switch (input.kind) {
        case Kind::kParameter:
        case Kind::kScales:
        case Kind::kZeros:
        case Kind::kCacheK:
        case Kind::kCacheV:
          arguments[d].push_back(&tensors_.at(d, input));
          break;
        case Kind::kValue:
          arguments[d].push_back(&(*values[static_cast<size_t>(input.index)])[d]);
          break;
        default:
          arguments[d].push_back(&call[d].emplace_back(upload(input, batch, d)));
      }
    }
  }
  PjrtResults results = executable.execute(arguments);
  DeviceBuffers first;
  for (size_t d = 0; d < devices; ++d) {
    for (size_t i = 0; i < program.caches.size(); ++i) tensors_.replace(d, program.caches[i], std::move(results[d][i + 1]));
    first.push_back(std::move(results[d][0]));
  }
  for (const auto& [name, total] : program.collectives) communicator_.add_counts(name, total.count, total.bytes);
  add_calls(kernel_calls_, program.kernel_calls);
  return first;
}

PjrtBuffer ProgramRunner::upload(const HloInput& input, const Batch& batch, size_t device) const {
  const auto send = [&](const void* data) { return client_->to_device(data, input.type.dtype, input.type.dims, device); };
  switch (input.kind) {
    case Kind::kIds:
      return send(batch.ids.data());
    case Kind::kStart:
      return send(batch.start.data());
    case Kind::kLength:
      return send(batch.length.data());
    case Kind::kSlot:
      return send(batch.slot.data());
    default: {
      const RopeConfig& rope = model_.config.ropes[static_cast<size_t>(input.index)];
      const RopeTable table = rope_table(rope, model_.config.max_position_embeddings, batch.width, batch.start, batch.total);
      return send(input.kind == Kind::kCos ? table.cos.data() : table.sin.data());
    }
  }
}

}  // namespace tp
