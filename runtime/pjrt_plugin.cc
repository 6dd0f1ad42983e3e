#include "runtime/pjrt_plugin.h"

#include <dlfcn.h>

#include "sharding/error.h"

namespace tp {
namespace {

constexpr const char* kPluginFix = "give --pjrt-plugin the library of a PJRT plugin, for TPU chips libtpu.so (`pip install libtpu`)";

std::string version_text(int major, int minor) { return std::to_string(major) + "." + std::to_string(minor); }

const PJRT_Api* api_of(const std::string& path) {
  if (!std::filesystem::exists(path)) throw Error(path, "no such file", kPluginFix);
  if (std::filesystem::is_directory(path)) throw Error(path, "is a directory, not a PJRT plugin", kPluginFix);
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    throw Error(path, std::string("cannot be loaded: ") + (reason == nullptr ? "unknown reason" : reason), kPluginFix);
  }
  auto* get_api = reinterpret_cast<const PJRT_Api* (*)()>(dlsym(library, "GetPjrtApi"));
  if (get_api == nullptr) throw Error(path, "is not a PJRT plugin: it has no GetPjrtApi", kPluginFix);
  const PJRT_Api* api = get_api();
  if (api == nullptr) throw Error(path, "its GetPjrtApi returned nothing", kPluginFix);
  return api;
}

// A plugin of the header's version or newer has every function that tprun calls and fills every field that it reads.
void require_version(const std::string& path, const PJRT_Api& api) {
  const int major = api.pjrt_api_version.major_version, minor = api.pjrt_api_version.minor_version;
  if (major != PJRT_API_MAJOR) {
    throw Error(path, "PJRT C API " + version_text(major, minor) + ", tprun speaks major version " + std::to_string(PJRT_API_MAJOR),
                "install a plugin that fits, for TPU chips `pip install libtpu`");
  }
  if (minor < PJRT_API_MINOR || api.struct_size < PJRT_Api_STRUCT_SIZE) {
    throw Error(path, "too old: PJRT C API " + version_text(major, minor) + ", tprun needs " +
                          version_text(PJRT_API_MAJOR, PJRT_API_MINOR) + " or newer",
                "install a newer plugin, for TPU chips `pip install --upgrade libtpu`");
  }
}

}  // namespace

std::shared_ptr<const PjrtPlugin> PjrtPlugin::load(const std::filesystem::path& path) {
  const PJRT_Api* api = api_of(path.string());
  require_version(path.string(), *api);
  std::shared_ptr<const PjrtPlugin> plugin(new PjrtPlugin(path.string(), api));
  auto args = pjrt_args<PJRT_Plugin_Initialize_Args>();
  plugin->call(&PJRT_Api::PJRT_Plugin_Initialize, args, "PJRT_Plugin_Initialize");
  return plugin;
}

std::string PjrtPlugin::version() const {
  return version_text(api_->pjrt_api_version.major_version, api_->pjrt_api_version.minor_version);
}

void PjrtPlugin::check(PJRT_Error* error, const char* name) const {
  if (error == nullptr) return;
  auto message = pjrt_args<PJRT_Error_Message_Args>();
  message.error = error;
  api_->PJRT_Error_Message(&message);
  const std::string text(message.message, message.message_size);
  auto code = pjrt_args<PJRT_Error_GetCode_Args>();
  code.error = error;
  drop(api_->PJRT_Error_GetCode(&code));
  drop(error);
  throw Error(path_, std::string(name) + " failed: code " + std::to_string(code.code) + " (" + pjrt_code_name(code.code) + "): " + text);
}

void PjrtPlugin::drop(PJRT_Error* error) const noexcept {
  if (error == nullptr) return;
  auto args = pjrt_args<PJRT_Error_Destroy_Args>();
  args.error = error;
  api_->PJRT_Error_Destroy(&args);
}

const char* pjrt_code_name(PJRT_Error_Code code) {
  static constexpr const char* kNames[] = {"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
                                           "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
                                           "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS",
                                           "UNAUTHENTICATED"};
  const auto index = static_cast<size_t>(code);
  return index < std::size(kNames) ? kNames[index] : "unknown code";
}

}  // namespace tp
