#pragma once

#include <optional>
#include <string>

#include "launcher/chips.h"
#include "launcher/launch_env.h"

namespace tp {

struct DeviceChoice {
  std::string device;  // cpu | tpu
  std::string note;    // why, when the user did not say; empty otherwise
};

// --device: an explicit one is never changed (tpu without a usable chip is refused, unless a plugin is named); the default is
// tpu where usable chips are found, or a plugin is named, else cpu. Where something says TPU but no chip is usable there is no
// default. Throws Error.
DeviceChoice choose_device(const std::string& given, const HostChips& chips, const Environment& preset, bool plugin_given,
                           const std::string& host_root);

// Loads the plugin in a process of its own (a wrong one may take its process down, or wait for ever) and looks for GetPjrtApi.
// Throws Error with `where`, the option or variable that named it.
void require_pjrt_plugin(const std::string& path, const std::string& where);

}  // namespace tp
