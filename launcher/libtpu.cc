#include "launcher/libtpu.h"

#include <filesystem>

#include "launcher/options_environment.h"
#include "sharding/error.h"

namespace tp {

std::string find_libtpu() {
  const std::string fix = "tools/setup.sh installs it; or give its file: --pjrt-plugin FILE";
  std::error_code ignored;
  if (const auto named = environment("TPU_LIBRARY_PATH"); named && !named->empty()) {
    if (!std::filesystem::is_regular_file(*named, ignored)) throw Error("TPU_LIBRARY_PATH", "no such file: " + *named, fix);
    return std::filesystem::absolute(*named).string();
  }
  const std::string built_with = TPRUN_LIBTPU;
  if (built_with.empty() || !std::filesystem::is_regular_file(built_with, ignored)) throw Error("libtpu", "was not found", fix);
  return built_with;
}

}  // namespace tp
