#include "tests/fake_slice/slice_client.h"

#include <string_view>

#include "runtime/pjrt_event.h"
#include "tests/fake_slice/slice_error.h"

namespace tp::fake_slice {
namespace {

PJRT_Client* create_inner_client(const PjrtPlugin& plugin, int64_t devices) {
  constexpr std::string_view kDeviceCount = "cpu_device_count";
  auto option = pjrt_args<PJRT_NamedValue>();
  option.name = kDeviceCount.data();
  option.name_size = kDeviceCount.size();
  option.type = PJRT_NamedValue_kInt64;
  option.int64_value = devices;
  option.value_size = 1;
  auto args = pjrt_args<PJRT_Client_Create_Args>();
  args.create_options = &option;
  args.num_options = 1;
  pjrt_call(plugin, &PJRT_Api::PJRT_Client_Create, args, "PJRT_Client_Create");
  return args.client;
}

std::vector<PJRT_Device*> devices_of(const PjrtPlugin& plugin, PJRT_Client* client) {
  auto args = pjrt_args<PJRT_Client_Devices_Args>();
  args.client = client;
  pjrt_call(plugin, &PJRT_Api::PJRT_Client_Devices, args, "PJRT_Client_Devices");
  return {args.devices, args.devices + args.num_devices};
}

}  // namespace

SliceClient::SliceClient(const PjrtPlugin& plugin, const SliceOptions& options)
    : plugin_(plugin),
      options_(options),
      client_(create_inner_client(plugin, options.world_size)),
      devices_(devices_of(plugin, client_)),
      mesh_(options.rank, options.world_size, options.job, options.timeout),
      buffers_(plugin, options.memory_bytes) {}

SliceClient::~SliceClient() {
  buffers_.drop_all_copies();
}

int SliceClient::rank_of(PJRT_Device* device) const {
  for (size_t r = 0; r < devices_.size(); ++r) {
    if (devices_[r] == device) return static_cast<int>(r);
  }
  throw SliceError(PJRT_Error_Code_INTERNAL, "a program runs on a device that the client does not have");
}

void SliceClient::add_program(PJRT_LoadedExecutable* executable) {
  auto devices = pjrt_args<PJRT_LoadedExecutable_AddressableDevices_Args>();
  devices.executable = executable;
  pjrt_call(plugin_, &PJRT_Api::PJRT_LoadedExecutable_AddressableDevices, devices, "PJRT_LoadedExecutable_AddressableDevices");
  Program program;
  bool mine = false;
  for (size_t i = 0; i < devices.num_addressable_devices; ++i) {
    program.ranks.push_back(rank_of(devices.addressable_devices[i]));
    program.name += (i == 0 ? "the program over ranks " : ",") + std::to_string(program.ranks.back());
    if (program.ranks.back() != options_.rank) continue;
    program.own_index = i;
    mine = true;
  }
  program.shared = mine && program.ranks.size() > 1;
  auto inner = pjrt_args<PJRT_LoadedExecutable_GetExecutable_Args>();
  inner.loaded_executable = executable;
  pjrt_call(plugin_, &PJRT_Api::PJRT_LoadedExecutable_GetExecutable, inner, "PJRT_LoadedExecutable_GetExecutable");
  auto outputs = pjrt_args<PJRT_Executable_NumOutputs_Args>();
  outputs.executable = inner.executable;
  pjrt_call(plugin_, &PJRT_Api::PJRT_Executable_NumOutputs, outputs, "PJRT_Executable_NumOutputs");
  program.num_outputs = outputs.num_outputs;
  auto destroy = pjrt_args<PJRT_Executable_Destroy_Args>();
  destroy.executable = inner.executable;
  pjrt_release(plugin_, &PJRT_Api::PJRT_Executable_Destroy, destroy);
  const std::lock_guard lock(mutex_);
  programs_[executable] = std::move(program);
}

void SliceClient::remove_program(PJRT_LoadedExecutable* executable) {
  const std::lock_guard lock(mutex_);
  programs_.erase(executable);
}

bool SliceClient::is_shared(PJRT_LoadedExecutable* executable) {
  const std::lock_guard lock(mutex_);
  const auto found = programs_.find(executable);
  return found != programs_.end() && found->second.shared;
}

void SliceClient::add_buffer(PJRT_Buffer* buffer) {
  const std::lock_guard lock(mutex_);
  buffers_.count(buffer);
}

void SliceClient::remove_buffer(PJRT_Buffer* buffer) {
  const std::lock_guard lock(mutex_);
  buffers_.forget(buffer);
}

void SliceClient::fail_as_asked() {
  if (++executions_ != options_.fail_call || options_.rank != options_.fail_rank) return;
  throw SliceError(PJRT_Error_Code_INTERNAL, "execution " + std::to_string(executions_) + " on rank " +
                                                 std::to_string(options_.rank) +
                                                 " fails because TPRUN_FAKE_SLICE_FAIL_CALL says so");
}

void SliceClient::execute(const PJRT_LoadedExecutable_Execute_Args& args) {
  const std::lock_guard lock(mutex_);
  fail_as_asked();
  const auto found = programs_.find(args.executable);
  if (found != programs_.end() && found->second.shared) {
    run_shared(found->second, args);
  } else {
    auto copy = args;
    pjrt_call(plugin_, &PJRT_Api::PJRT_LoadedExecutable_Execute, copy, "PJRT_LoadedExecutable_Execute");
  }
  if (options_.memory_bytes > 0) buffers_.uncount_consumed(args.argument_lists[0], args.num_args);
}

SliceClient::Gathered SliceClient::swap_arguments(Program& program, const PJRT_LoadedExecutable_Execute_Args& args,
                                                  uint64_t first_output_id) {
  const std::string call = "call " + std::to_string(++program.calls) + " of " + program.name;
  std::map<int, std::string> outgoing;
  for (int peer : program.ranks) {
    if (peer == options_.rank) continue;
    ExecutionMessage message{.program = call, .first_output_id = first_output_id, .forgotten = buffers_.take_forgotten(peer)};
    for (size_t i = 0; i < args.num_args; ++i) message.arguments.push_back(buffers_.describe(args.argument_lists[0][i], peer));
    outgoing[peer] = encode(message);
  }
  const std::map<int, std::string> incoming = mesh_.exchange(outgoing, call);

  Gathered gathered;
  for (int rank : program.ranks) {
    auto& list = gathered.arguments.emplace_back();
    if (rank == options_.rank) {
      list.assign(args.argument_lists[0], args.argument_lists[0] + args.num_args);
      continue;
    }
    const ExecutionMessage message = decode(incoming.at(rank));
    if (message.program != call || message.arguments.size() != args.num_args) {
      throw SliceError(PJRT_Error_Code_FAILED_PRECONDITION,
                       "the ranks run different programs: " + call + " with " + std::to_string(args.num_args) +
                           " arguments here, " + message.program + " with " + std::to_string(message.arguments.size()) +
                           " on rank " + std::to_string(rank));
    }
    buffers_.drop_copies(rank, message.forgotten);
    for (const ArgumentMessage& argument : message.arguments) {
      list.push_back(buffers_.copy_of(rank, argument, client_, devices_[static_cast<size_t>(rank)]));
    }
    gathered.first_output_ids[rank] = message.first_output_id;
  }
  return gathered;
}

void SliceClient::run_shared(Program& program, const PJRT_LoadedExecutable_Execute_Args& args) {
  const size_t count = program.ranks.size();
  const uint64_t first_output_id = buffers_.reserve(program.num_outputs);
  const Gathered gathered = swap_arguments(program, args, first_output_id);

  std::vector<std::vector<PJRT_Buffer*>> outputs(count, std::vector<PJRT_Buffer*>(program.num_outputs));
  std::vector<PJRT_Buffer* const*> argument_lists;
  std::vector<PJRT_Buffer**> output_lists;
  for (size_t i = 0; i < count; ++i) {
    argument_lists.push_back(gathered.arguments[i].data());
    output_lists.push_back(outputs[i].data());
  }
  std::vector<PJRT_Event*> events(count);
  auto inner = args;
  inner.argument_lists = argument_lists.data();
  inner.num_devices = count;
  inner.output_lists = output_lists.data();
  inner.device_complete_events = events.data();
  inner.execute_device = nullptr;
  pjrt_call(plugin_, &PJRT_Api::PJRT_LoadedExecutable_Execute, inner, "PJRT_LoadedExecutable_Execute");

  std::vector<int> peers;
  for (int rank : program.ranks) {
    if (rank != options_.rank) peers.push_back(rank);
  }
  for (size_t i = 0; i < count; ++i) {
    const int rank = program.ranks[i];
    const bool own = rank == options_.rank;
    for (size_t k = 0; k < program.num_outputs; ++k) {
      if (own) {
        args.output_lists[0][k] = outputs[i][k];
        buffers_.number_output(outputs[i][k], first_output_id + k, peers);
      } else {
        buffers_.keep_copy(rank, gathered.first_output_ids.at(rank) + k, outputs[i][k]);
      }
    }
    if (own && args.device_complete_events != nullptr) {
      args.device_complete_events[0] = events[i];
    } else {
      wait_for(plugin_, events[i], options_.timeout, "execution of a peer's part");
    }
  }
}

}  // namespace tp::fake_slice
