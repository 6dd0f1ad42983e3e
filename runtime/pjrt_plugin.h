#pragma once

#include <filesystem>
#include <memory>
#include <string>

struct PJRT_Api;

namespace tp {

// A loaded PJRT plugin: the library that compiles and runs programs on one kind of device. Never unloaded (plugins keep
// threads). Everything that the C API reports as an error becomes tp::Error{where = path} with the call, code and text.
class PjrtPlugin {
 public:
  // Throws Error: no such file, not a library, not a PJRT plugin, another major version, older than the header's version.
  static std::shared_ptr<const PjrtPlugin> load(const std::filesystem::path& path);

  const std::string& path() const { return path_; }
  std::string version() const;  // of the API: "0.115"

  const PJRT_Api& api() const { return *api_; }  // for pjrt_call.h

 private:
  PjrtPlugin(std::string path, const PJRT_Api* api) : path_(std::move(path)), api_(api) {}

  std::string path_;
  const PJRT_Api* api_;
};

}  // namespace tp
