#include "runtime/pjrt_call.h"

#include <iterator>
#include <stdexcept>

#include "sharding/error.h"

namespace tp {
namespace {

const char* code_name(PJRT_Error_Code code) {
  static constexpr const char* kNames[] = {
      "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED"};
  const auto index = static_cast<size_t>(code);
  return index < std::size(kNames) ? kNames[index] : "unknown code";
}

}  // namespace

void pjrt_check(const PjrtPlugin& plugin, PJRT_Error* error, const char* name) {
  if (error == nullptr) return;
  auto message = pjrt_args<PJRT_Error_Message_Args>();
  message.error = error;
  plugin.api().PJRT_Error_Message(&message);
  const std::string text(message.message, message.message_size);
  auto code = pjrt_args<PJRT_Error_GetCode_Args>();
  code.error = error;
  pjrt_drop(plugin, plugin.api().PJRT_Error_GetCode(&code));
  pjrt_drop(plugin, error);
  throw Error(plugin.path(),
              std::string(name) + " failed: code " + std::to_string(code.code) + " (" + code_name(code.code) + "): " + text);
}

void pjrt_drop(const PjrtPlugin& plugin, PJRT_Error* error) noexcept {
  if (error == nullptr) return;
  auto args = pjrt_args<PJRT_Error_Destroy_Args>();
  args.error = error;
  plugin.api().PJRT_Error_Destroy(&args);
}

PJRT_Program stablehlo_program(std::string& text) {
  auto program = pjrt_args<PJRT_Program>();
  program.code = text.data();
  program.code_size = text.size();
  program.format = "mlir";
  program.format_size = 4;
  return program;
}

PJRT_Buffer_Type pjrt_type(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return PJRT_Buffer_Type_F64;
    case DType::kF32:
      return PJRT_Buffer_Type_F32;
    case DType::kF16:
      return PJRT_Buffer_Type_F16;
    case DType::kBF16:
      return PJRT_Buffer_Type_BF16;
    case DType::kI64:
      return PJRT_Buffer_Type_S64;
    case DType::kI32:
      return PJRT_Buffer_Type_S32;
    case DType::kI16:
      return PJRT_Buffer_Type_S16;
    case DType::kI8:
      return PJRT_Buffer_Type_S8;
    case DType::kU64:
      return PJRT_Buffer_Type_U64;
    case DType::kU32:
      return PJRT_Buffer_Type_U32;
    case DType::kU16:
      return PJRT_Buffer_Type_U16;
    case DType::kU8:
      return PJRT_Buffer_Type_U8;
    case DType::kBool:
      return PJRT_Buffer_Type_PRED;
    case DType::kF8E4M3:
      return PJRT_Buffer_Type_F8E4M3FN;
    case DType::kF8E5M2:
      return PJRT_Buffer_Type_F8E5M2;
  }
  throw std::logic_error("unknown dtype");
}

}  // namespace tp
