#include "tests/fake_slice/slice_buffers.h"

#include <utility>

#include "runtime/pjrt_event.h"
#include "tests/fake_slice/slice_error.h"

namespace tp::fake_slice {
namespace {

constexpr std::chrono::milliseconds kTimeout = std::chrono::minutes(1);  // of a copy within this process

std::string elements_of(const PjrtPlugin& plugin, PJRT_Buffer* buffer) {
  auto args = pjrt_args<PJRT_Buffer_ToHostBuffer_Args>();
  args.src = buffer;
  pjrt_call(plugin, &PJRT_Api::PJRT_Buffer_ToHostBuffer, args, "PJRT_Buffer_ToHostBuffer");
  std::string data(args.dst_size, '\0');
  args.dst = data.data();
  pjrt_call(plugin, &PJRT_Api::PJRT_Buffer_ToHostBuffer, args, "PJRT_Buffer_ToHostBuffer");
  wait_for(plugin, args.event, kTimeout, "PJRT_Buffer_ToHostBuffer");
  return data;
}

}  // namespace

SliceBuffers::Owned& SliceBuffers::owned(PJRT_Buffer* buffer) {
  Owned& entry = owned_[buffer];
  if (entry.id == 0) entry.id = next_id_++;
  return entry;
}

void SliceBuffers::count(PJRT_Buffer* buffer) {
  auto size = pjrt_args<PJRT_Buffer_OnDeviceSizeInBytes_Args>();
  size.buffer = buffer;
  pjrt_call(plugin_, &PJRT_Api::PJRT_Buffer_OnDeviceSizeInBytes, size, "PJRT_Buffer_OnDeviceSizeInBytes");
  const auto bytes = static_cast<int64_t>(size.on_device_size_in_bytes);
  if (memory_bytes_ > 0 && used_bytes_ + bytes > memory_bytes_) {
    throw SliceError(PJRT_Error_Code_RESOURCE_EXHAUSTED, "out of memory: " + std::to_string(bytes) + " bytes asked for, " +
                                                             std::to_string(used_bytes_) + " of " +
                                                             std::to_string(memory_bytes_) + " in use");
  }
  owned(buffer).counted_bytes = bytes;
  used_bytes_ += bytes;
}

void SliceBuffers::forget(PJRT_Buffer* buffer) {
  const auto found = owned_.find(buffer);
  if (found == owned_.end()) return;
  for (int peer : found->second.known_by) forgotten_[peer].push_back(found->second.id);
  used_bytes_ -= found->second.counted_bytes;
  owned_.erase(found);
}

void SliceBuffers::uncount_consumed(PJRT_Buffer* const* buffers, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    auto deleted = pjrt_args<PJRT_Buffer_IsDeleted_Args>();
    deleted.buffer = buffers[i];
    pjrt_call(plugin_, &PJRT_Api::PJRT_Buffer_IsDeleted, deleted, "PJRT_Buffer_IsDeleted");
    if (deleted.is_deleted) used_bytes_ -= std::exchange(owned(buffers[i]).counted_bytes, 0);
  }
}

uint64_t SliceBuffers::reserve(size_t count) {
  return std::exchange(next_id_, next_id_ + count);
}

void SliceBuffers::number_output(PJRT_Buffer* buffer, uint64_t id, const std::vector<int>& known_by) {
  owned_[buffer] = {.id = id, .known_by = {known_by.begin(), known_by.end()}};
}

ArgumentMessage SliceBuffers::describe(PJRT_Buffer* buffer, int peer) {
  Owned& entry = owned(buffer);
  ArgumentMessage message{.id = entry.id, .has_data = entry.known_by.insert(peer).second};
  if (!message.has_data) return message;
  auto type = pjrt_args<PJRT_Buffer_ElementType_Args>();
  type.buffer = buffer;
  pjrt_call(plugin_, &PJRT_Api::PJRT_Buffer_ElementType, type, "PJRT_Buffer_ElementType");
  auto dims = pjrt_args<PJRT_Buffer_Dimensions_Args>();
  dims.buffer = buffer;
  pjrt_call(plugin_, &PJRT_Api::PJRT_Buffer_Dimensions, dims, "PJRT_Buffer_Dimensions");
  message.type = static_cast<int32_t>(type.type);
  message.dims.assign(dims.dims, dims.dims + dims.num_dims);
  message.data = elements_of(plugin_, buffer);
  return message;
}

std::vector<uint64_t> SliceBuffers::take_forgotten(int peer) {
  return std::exchange(forgotten_[peer], {});
}

PJRT_Buffer* SliceBuffers::copy_of(int peer, const ArgumentMessage& argument, PJRT_Client* client, PJRT_Device* device) {
  if (argument.has_data) {
    auto args = pjrt_args<PJRT_Client_BufferFromHostBuffer_Args>();
    args.client = client;
    args.data = argument.data.data();
    args.type = static_cast<PJRT_Buffer_Type>(argument.type);
    args.dims = argument.dims.data();
    args.num_dims = argument.dims.size();
    args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
    args.device = device;
    pjrt_call(plugin_, &PJRT_Api::PJRT_Client_BufferFromHostBuffer, args, "PJRT_Client_BufferFromHostBuffer");
    wait_for(plugin_, args.done_with_host_buffer, kTimeout, "PJRT_Client_BufferFromHostBuffer");
    keep_copy(peer, argument.id, args.buffer);
  }
  const auto found = copies_[peer].find(argument.id);
  if (found == copies_[peer].end()) {
    throw SliceError(PJRT_Error_Code_INTERNAL, "rank " + std::to_string(peer) + " names a buffer that it never sent");
  }
  return found->second;
}

void SliceBuffers::keep_copy(int peer, uint64_t id, PJRT_Buffer* buffer) {
  copies_[peer][id] = buffer;
}

void SliceBuffers::drop_copies(int peer, const std::vector<uint64_t>& ids) {
  for (uint64_t id : ids) {
    const auto found = copies_[peer].find(id);
    if (found == copies_[peer].end()) continue;
    destroy(found->second);
    copies_[peer].erase(found);
  }
}

void SliceBuffers::drop_all_copies() {
  for (const auto& [peer, copies] : std::exchange(copies_, {})) {
    for (const auto& [id, buffer] : copies) destroy(buffer);
  }
}

void SliceBuffers::destroy(PJRT_Buffer* buffer) {
  auto args = pjrt_args<PJRT_Buffer_Destroy_Args>();
  args.buffer = buffer;
  pjrt_release(plugin_, &PJRT_Api::PJRT_Buffer_Destroy, args);
}

}  // namespace tp::fake_slice
