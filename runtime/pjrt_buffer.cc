#include "runtime/pjrt_buffer.h"

#include <stdexcept>
#include <utility>

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

PjrtBuffer::~PjrtBuffer() { destroy(); }

void PjrtBuffer::destroy() noexcept {
  if (buffer_ == nullptr) return;
  auto args = pjrt_args<PJRT_Buffer_Destroy_Args>();
  args.buffer = std::exchange(buffer_, nullptr);
  client_->plugin().release(&PJRT_Api::PJRT_Buffer_Destroy, args);
}

std::vector<int64_t> PjrtBuffer::shape() const {
  auto args = pjrt_args<PJRT_Buffer_Dimensions_Args>();
  args.buffer = buffer_;
  client_->plugin().call(&PJRT_Api::PJRT_Buffer_Dimensions, args, "PJRT_Buffer_Dimensions");
  return {args.dims, args.dims + args.num_dims};
}

bool PjrtBuffer::consumed() const {
  auto args = pjrt_args<PJRT_Buffer_IsDeleted_Args>();
  args.buffer = buffer_;
  client_->plugin().call(&PJRT_Api::PJRT_Buffer_IsDeleted, args, "PJRT_Buffer_IsDeleted");
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
  client_->plugin().call(&PJRT_Api::PJRT_Buffer_ToHostBuffer, args, "PJRT_Buffer_ToHostBuffer");
  if (static_cast<int64_t>(args.dst_size) != size_bytes) {
    throw Error(client_->plugin().path(), "a buffer of " + std::to_string(args.dst_size) + " bytes was read as " +
                                              std::to_string(size_bytes) + " bytes");
  }
  args.dst = data;
  client_->plugin().call(&PJRT_Api::PJRT_Buffer_ToHostBuffer, args, "PJRT_Buffer_ToHostBuffer");
  wait_for(client_->plugin(), args.event, client_->timeout(), "copy from the device");
}

PJRT_Buffer_Type pjrt_type(DType dtype) {
  switch (dtype) {
    case DType::kF64: return PJRT_Buffer_Type_F64;
    case DType::kF32: return PJRT_Buffer_Type_F32;
    case DType::kF16: return PJRT_Buffer_Type_F16;
    case DType::kBF16: return PJRT_Buffer_Type_BF16;
    case DType::kI64: return PJRT_Buffer_Type_S64;
    case DType::kI32: return PJRT_Buffer_Type_S32;
    case DType::kI16: return PJRT_Buffer_Type_S16;
    case DType::kI8: return PJRT_Buffer_Type_S8;
    case DType::kU8: return PJRT_Buffer_Type_U8;
    case DType::kBool: return PJRT_Buffer_Type_PRED;
    case DType::kF8E4M3: return PJRT_Buffer_Type_F8E4M3FN;
    case DType::kF8E5M2: return PJRT_Buffer_Type_F8E5M2;
  }
  throw std::logic_error("unknown dtype");
}

}  // namespace tp
