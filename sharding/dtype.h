#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tp {

// Element types as safetensors names them. Only kF32, kBF16 and kF16 can be a model's dtype.
enum class DType { kF64, kF32, kF16, kBF16, kI64, kI32, kI16, kI8, kU64, kU32, kU16, kU8, kBool, kF8E4M3, kF8E5M2 };

// Bytes of one element.
int64_t size_bytes(DType dtype);

// safetensors' name ("BF16") and Hugging Face's ("bfloat16").
std::string_view safetensors_name(DType dtype);
std::string_view torch_name(DType dtype);

// Throws Error{where} for an unknown name, listing the known ones.
DType dtype_from_safetensors(std::string_view name, const std::string& where);
DType dtype_from_torch(std::string_view name, const std::string& where);

}  // namespace tp
