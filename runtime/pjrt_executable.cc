#include "runtime/pjrt_executable.h"

#include <utility>

#include "runtime/pjrt_call.h"
#include "runtime/pjrt_client.h"
#include "runtime/pjrt_event.h"

namespace tp {

PjrtExecutable::PjrtExecutable(PjrtExecutable&& other) noexcept
    : plugin_(std::move(other.plugin_)), executable_(std::exchange(other.executable_, nullptr)) {}

PjrtExecutable::~PjrtExecutable() {
  if (executable_ == nullptr) return;
  auto args = pjrt_args<PJRT_Executable_Destroy_Args>();
  args.executable = executable_;
  pjrt_release(*plugin_, &PJRT_Api::PJRT_Executable_Destroy, args);
}

CompiledMemory PjrtExecutable::memory() const {
  auto args = pjrt_args<PJRT_Executable_GetCompiledMemoryStats_Args>();
  args.executable = executable_;
  pjrt_call(*plugin_, &PJRT_Api::PJRT_Executable_GetCompiledMemoryStats, args, "PJRT_Executable_GetCompiledMemoryStats");
  return {.argument_bytes = args.argument_size_in_bytes,
          .output_bytes = args.output_size_in_bytes,
          .temp_bytes = args.temp_size_in_bytes,
          .alias_bytes = args.alias_size_in_bytes,
          .peak_bytes = args.peak_memory_in_bytes};
}

std::string PjrtExecutable::serialize() const {
  auto args = pjrt_args<PJRT_Executable_Serialize_Args>();
  args.executable = executable_;
  pjrt_call(*plugin_, &PJRT_Api::PJRT_Executable_Serialize, args, "PJRT_Executable_Serialize");
  std::string bytes(args.serialized_bytes, args.serialized_bytes_size);
  if (args.serialized_executable_deleter != nullptr) args.serialized_executable_deleter(args.serialized_executable);
  return bytes;
}

size_t PjrtExecutable::num_outputs() const {
  auto args = pjrt_args<PJRT_Executable_NumOutputs_Args>();
  args.executable = executable_;
  pjrt_call(*plugin_, &PJRT_Api::PJRT_Executable_NumOutputs, args, "PJRT_Executable_NumOutputs");
  return args.num_outputs;
}

PjrtProgram::PjrtProgram(std::shared_ptr<const PjrtClient> client, PJRT_LoadedExecutable* executable)
    : client_(std::move(client)), executable_(executable) {
  num_outputs_ = this->executable().num_outputs();
}

PjrtProgram::PjrtProgram(PjrtProgram&& other) noexcept
    : client_(std::move(other.client_)),
      executable_(std::exchange(other.executable_, nullptr)),
      num_outputs_(other.num_outputs_) {}

PjrtProgram::~PjrtProgram() {
  if (executable_ == nullptr) return;
  auto args = pjrt_args<PJRT_LoadedExecutable_Destroy_Args>();
  args.executable = executable_;
  pjrt_release(client_->plugin(), &PJRT_Api::PJRT_LoadedExecutable_Destroy, args);
}

PjrtExecutable PjrtProgram::executable() const {
  auto args = pjrt_args<PJRT_LoadedExecutable_GetExecutable_Args>();
  args.loaded_executable = executable_;
  pjrt_call(client_->plugin(), &PJRT_Api::PJRT_LoadedExecutable_GetExecutable, args, "PJRT_LoadedExecutable_GetExecutable");
  return {client_->shared_plugin(), args.executable};
}

PjrtResults PjrtProgram::execute(const PjrtArguments& arguments) const {
  const size_t devices = arguments.size();
  std::vector<std::vector<PJRT_Buffer*>> inputs(devices), outputs(devices, std::vector<PJRT_Buffer*>(num_outputs_));
  std::vector<PJRT_Buffer* const*> input_lists;
  std::vector<PJRT_Buffer**> output_lists;
  for (size_t d = 0; d < devices; ++d) {
    for (const PjrtBuffer* buffer : arguments[d]) inputs[d].push_back(buffer->get());
    input_lists.push_back(inputs[d].data());
    output_lists.push_back(outputs[d].data());
  }
  std::vector<PJRT_Event*> events(devices);
  auto options = pjrt_args<PJRT_ExecuteOptions>();
  auto args = pjrt_args<PJRT_LoadedExecutable_Execute_Args>();
  args.executable = executable_;
  args.options = &options;
  args.argument_lists = input_lists.data();
  args.num_devices = devices;
  args.num_args = inputs.front().size();
  args.output_lists = output_lists.data();
  args.device_complete_events = events.data();
  pjrt_call(client_->plugin(), &PJRT_Api::PJRT_LoadedExecutable_Execute, args, "PJRT_LoadedExecutable_Execute");

  PjrtResults results(devices);
  for (size_t d = 0; d < devices; ++d) {
    for (PJRT_Buffer* buffer : outputs[d]) results[d].emplace_back(client_, buffer);
  }
  for (PJRT_Event* event : events) wait_for(client_->plugin(), event, client_->timeout(), "execution of a program");
  return results;
}

}  // namespace tp
