#pragma once

#include <string>

#include "pjrt/pjrt_c_api.h"
#include "runtime/pjrt_plugin.h"
#include "sharding/dtype.h"

// How the files of the client speak to the C API. Others use the classes: this header is the only one that includes the API.
namespace tp {

// A zeroed argument struct of the C API, with its size filled in.
template <class Args>
Args pjrt_args() {
  Args args{};
  args.struct_size = sizeof(Args);
  return args;
}

// Consumes `error`; throws Error if it is not null, naming the call.
void pjrt_check(const PjrtPlugin& plugin, PJRT_Error* error, const char* name);
// Consumes `error` without a word.
void pjrt_drop(const PjrtPlugin& plugin, PJRT_Error* error) noexcept;

// Calls a function of the API and throws Error if it fails.
template <class Function, class Args>
void pjrt_call(const PjrtPlugin& plugin, Function* PJRT_Api::*function, Args& args, const char* name) {
  pjrt_check(plugin, (plugin.api().*function)(&args), name);
}

// As pjrt_call, for destructors: an error is swallowed.
template <class Function, class Args>
void pjrt_release(const PjrtPlugin& plugin, Function* PJRT_Api::*function, Args& args) noexcept {
  pjrt_drop(plugin, (plugin.api().*function)(&args));
}

PJRT_Buffer_Type pjrt_type(DType dtype);

// StableHLO text as the API takes it. `text` must outlive the result; the API wants it writable and leaves it alone.
PJRT_Program stablehlo_program(std::string& text);

}  // namespace tp
