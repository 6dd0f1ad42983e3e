#include "runtime/pjrt_buffer.h"

#include <stdexcept>
#include <utility>

#include "runtime/pjrt_call.h"
#include "runtime/pjrt_client.h"
#include "runtime/pjrt_event.h"
#include "sharding/error.h"

namespace tp {

PjrtBuffer::PjrtBuffer(PjrtBuffer&& other) noexcept
    : client_(std::move(other.client_)), buffer_(std::exchange(other.buffer_, nullptr)) {}

PjrtBuffer& PjrtBuffer::operator=(PjrtBuffer&& other) noexcept {
  if (this != &other) {
    destroy();
    client_ = std::move(other.client_);
    buffer_ = std::exchange(other.buffer_, nullptr);
  }
  return *this;
}

PjrtBuffer::~PjrtBuffer() {
  destroy();
}

void PjrtBuffer::destroy() noexcept {
  if (buffer_ == nullptr) return;
  auto args = pjrt_args<PJRT_Buffer_Destroy_Args>();
  args.buffer = std::exchange(buffer_, nullptr);
  pjrt_release(client_->plugin(), &PJRT_Api::PJRT_Buffer_Destroy, args);
}

std::vector<int64_t> PjrtBuffer::shape() const {
  auto args = pjrt_args<PJRT_Buffer_Dimensions_Args>();
  args.buffer = buffer_;
  pjrt_call(client_->plugin(), &PJRT_Api::PJRT_Buffer_Dimensions, args, "PJRT_Buffer_Dimensions");
  return {args.dims, args.dims + args.num_dims};
}

bool PjrtBuffer::consumed() const {
  auto args = pjrt_args<PJRT_Buffer_IsDeleted_Args>();
  args.buffer = buffer_;
  pjrt_call(client_->plugin(), &PJRT_Api::PJRT_Buffer_IsDeleted, args, "PJRT_Buffer_IsDeleted");
  return args.is_deleted;
}

void PjrtBuffer::to_host(void* data, int64_t size_bytes) const {
  // Without a layout of our own the device's is used, which on TPU need not be row-major.
  const std::vector<int64_t> dims = shape();
  std::vector<int64_t> minor_to_major;
  for (size_t i = dims.size(); i > 0; --i) minor_to_major.push_back(static_cast<int64_t>(i - 1));
  auto layout = pjrt_args<PJRT_Buffer_MemoryLayout>();
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled = pjrt_args<PJRT_Buffer_MemoryLayout_Tiled>();
  layout.tiled.minor_to_major = minor_to_major.data();
  layout.tiled.minor_to_major_size = minor_to_major.size();

  auto args = pjrt_args<PJRT_Buffer_ToHostBuffer_Args>();
  args.src = buffer_;
  args.host_layout = &layout;
  pjrt_call(client_->plugin(), &PJRT_Api::PJRT_Buffer_ToHostBuffer, args, "PJRT_Buffer_ToHostBuffer");
  if (static_cast<int64_t>(args.dst_size) != size_bytes) {
    throw Error(client_->plugin().path(),
                "a buffer of " + std::to_string(args.dst_size) + " bytes was read as " + std::to_string(size_bytes) + " bytes");
  }
  args.dst = data;
  pjrt_call(client_->plugin(), &PJRT_Api::PJRT_Buffer_ToHostBuffer, args, "PJRT_Buffer_ToHostBuffer");
  wait_for(client_->plugin(), args.event, client_->timeout(), "copy from the device");
}

}  // namespace tp
