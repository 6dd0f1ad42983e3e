#include "launcher/device_choice.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "launcher/libtpu.h"
#include "sharding/error.h"

namespace tp {
namespace {

constexpr unsigned kLoadTimeoutS = 60;

std::string list_of_signs(const HostChips& chips, const Environment& preset) {
  std::string list;
  for (const std::string& sign : chips.signs) list += (list.empty() ? "" : ", ") + sign;
  // A TPU slice's host has these; a workstation has not.
  for (const char* name : {"TPU_WORKER_HOSTNAMES", "TPU_WORKER_ID", "TPU_ACCELERATOR_TYPE", "TPU_TOPOLOGY",
                           "TORCH_TPU_TOPOLOGY", "TORCH_TPU_SLICEBUILDER_ADDRESSES"}) {
    const auto value = preset.find(name);
    if (value != preset.end() && !value->second.empty())
      list += (list.empty() ? "" : ", ") + std::string(name) + "=" + value->second;
  }
  return list;
}

}  // namespace

DeviceChoice choose_device(const std::string& given, const HostChips& chips, const Environment& preset, bool plugin_given,
                           const std::string& host_root) {
  const bool usable = !chips.usable.empty();
  if (given == "cpu") return {"cpu", ""};
  if (given == "tpu") {
    if (usable || plugin_given) return {"tpu", ""};
    std::string fix = "--device cpu, or a plugin that brings its own devices: --pjrt-plugin FILE";
    for (const Chip& chip : chips.unusable) fix += "; " + chip.pci + ": " + chip.problem;
    throw Error("--device", "no usable TPU chip; looked for " + looked_for(host_root) + "; PJRT plugin: " + describe_libtpu(),
                fix);
  }
  if (plugin_given) return {"tpu", "device tpu (--pjrt-plugin)"};
  if (usable) {
    const std::string count = std::to_string(chips.usable.size());
    return {"tpu",
            "device tpu (" + count + " " + chips.usable.front().generation + (chips.usable.size() == 1 ? " chip)" : " chips)")};
  }
  if (const std::string signs = list_of_signs(chips, preset); !signs.empty()) {
    throw Error("--device", "this looks like a TPU host (" + signs + "), but no chip is usable",
                "say --device cpu to compute on the CPU, or see `tprun devices`");
  }
  return {"cpu", "device cpu (no TPU chip found)"};
}

void require_pjrt_plugin(const std::string& path, const std::string& where) {
  std::error_code ignored;
  const char* fix = "give the file of a PJRT plugin, such as libtpu.so";
  if (!std::filesystem::is_regular_file(path, ignored)) throw Error(where, "no such file: " + path, fix);
  int ends[2];
  if (pipe(ends) != 0) throw Error(where, "pipe failed", "");
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(kLoadTimeoutS);  // a library may wait for a chip
    void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    const char* why = library == nullptr ? dlerror() : dlsym(library, "GetPjrtApi") == nullptr ? "it has no GetPjrtApi" : "";
    [[maybe_unused]] const ssize_t n = write(ends[1], why, std::char_traits<char>::length(why));
    _exit(*why == '\0' ? 0 : 1);
  }
  close(ends[1]);
  std::string why;
  char buffer[512];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof(buffer))) > 0;) why.append(buffer, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw Error(where, path + " cannot be loaded: " + (why.empty() ? "the process that tried died" : why), fix);
  }
}

}  // namespace tp
