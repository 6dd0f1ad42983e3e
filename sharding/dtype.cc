#include "sharding/dtype.h"

#include <array>

#include "sharding/error.h"

namespace tp {
namespace {

struct Row {
  DType dtype;
  int64_t size_bytes;
  std::string_view safetensors;
  std::string_view torch;
};

constexpr std::array<Row, 15> kTable = {{
    {DType::kF64, 8, "F64", "float64"},
    {DType::kF32, 4, "F32", "float32"},
    {DType::kF16, 2, "F16", "float16"},
    {DType::kBF16, 2, "BF16", "bfloat16"},
    {DType::kI64, 8, "I64", "int64"},
    {DType::kI32, 4, "I32", "int32"},
    {DType::kI16, 2, "I16", "int16"},
    {DType::kI8, 1, "I8", "int8"},
    {DType::kU64, 8, "U64", "uint64"},
    {DType::kU32, 4, "U32", "uint32"},
    {DType::kU16, 2, "U16", "uint16"},
    {DType::kU8, 1, "U8", "uint8"},
    {DType::kBool, 1, "BOOL", "bool"},
    {DType::kF8E4M3, 1, "F8_E4M3", "float8_e4m3fn"},
    {DType::kF8E5M2, 1, "F8_E5M2", "float8_e5m2"},
}};

const Row& row(DType dtype) {
  return kTable[static_cast<size_t>(dtype)];
}

DType find(std::string_view Row::*column, std::string_view name, const std::string& where) {
  std::string known;
  for (const Row& r : kTable) {
    if (r.*column == name) return r.dtype;
    known += (known.empty() ? "" : ", ") + std::string(r.*column);
  }
  throw Error(where, "unknown dtype `" + std::string(name) + "`", "known ones are " + known);
}

}  // namespace

int64_t size_bytes(DType dtype) {
  return row(dtype).size_bytes;
}
std::string_view safetensors_name(DType dtype) {
  return row(dtype).safetensors;
}
std::string_view torch_name(DType dtype) {
  return row(dtype).torch;
}
DType dtype_from_safetensors(std::string_view name, const std::string& where) {
  return find(&Row::safetensors, name, where);
}
DType dtype_from_torch(std::string_view name, const std::string& where) {
  return find(&Row::torch, name, where);
}

}  // namespace tp
