#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "third_party/pjrt/pjrt_c_api.h"

namespace tp {

// A zeroed argument struct of the C API, with its size filled in.
template <class Args>
Args pjrt_args() {
  Args args{};
  args.struct_size = sizeof(Args);
  return args;
}

// A loaded PJRT plugin: the library that compiles and runs programs on one kind of device. Never unloaded (plugins keep
// threads). Everything that the C API reports as an error becomes tp::Error{where = path} with the call, code and text.
class PjrtPlugin {
 public:
  // Throws Error: no such file, not a library, not a PJRT plugin, another major version, older than the header's version.
  static std::shared_ptr<const PjrtPlugin> load(const std::filesystem::path& path);

  const std::string& path() const { return path_; }
  std::string version() const;  // of the API: "0.115"

  // Calls a function of the API and throws Error if it fails.
  template <class Function, class Args>
  void call(Function* PJRT_Api::* function, Args& args, const char* name) const {
    check((api_->*function)(&args), name);
  }
  // As call, for destructors: an error is swallowed.
  template <class Function, class Args>
  void release(Function* PJRT_Api::* function, Args& args) const noexcept {
    drop((api_->*function)(&args));
  }
  // Consumes `error`; throws Error if it is not null.
  void check(PJRT_Error* error, const char* name) const;

 private:
  PjrtPlugin(std::string path, const PJRT_Api* api) : path_(std::move(path)), api_(api) {}
  void drop(PJRT_Error* error) const noexcept;

  std::string path_;
  const PJRT_Api* api_;
};

// "NOT_FOUND" for PJRT_Error_Code_NOT_FOUND.
const char* pjrt_code_name(PJRT_Error_Code code);

}  // namespace tp
