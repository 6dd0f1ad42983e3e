#include "runtime/pjrt_plugin.h"

#include <dlfcn.h>

#include "runtime/pjrt_call.h"
#include "sharding/error.h"

namespace tp {
namespace {

constexpr const char* kPluginFix =
    "give --pjrt-plugin the library of a PJRT plugin, for TPU chips libtpu.so (`pip install libtpu`)";

std::string version_text(int major, int minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

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
    throw Error(path,
                "PJRT C API " + version_text(major, minor) + ", tprun speaks major version " + std::to_string(PJRT_API_MAJOR),
                "install a plugin that fits, for TPU chips `pip install libtpu`");
  }
  if (minor < PJRT_API_MINOR || api.struct_size < PJRT_Api_STRUCT_SIZE) {
    throw Error(path,
                "too old: PJRT C API " + version_text(major, minor) + ", tprun needs " +
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
  pjrt_call(*plugin, &PJRT_Api::PJRT_Plugin_Initialize, args, "PJRT_Plugin_Initialize");
  return plugin;
}

std::string PjrtPlugin::version() const {
  return version_text(api_->pjrt_api_version.major_version, api_->pjrt_api_version.minor_version);
}

}  // namespace tp
