#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "launcher/chips.h"

namespace tp {

// Fills in who has a chip's device file open, from root + /proc/*/fd.
void find_holders(const std::string& root, std::vector<Chip>& chips);

// A process by its pid: the user's name (else number) and the command line.
ChipHolder describe_process(const std::string& root, pid_t pid);

// "pid 4711 (root): python train.py"
std::string holder_text(const ChipHolder& holder);

// Throws Error, naming every holder, when another process has one of the chips that a job of `ranks` ranks takes: the first
// ones, as many as it needs.
void require_free_chips(const HostChips& host, int ranks);

// State of libtpu's lock file. A file that nobody holds is harmless, whoever it names.
struct LibtpuLock {
  bool exists = false;
  bool held = false;
  std::optional<ChipHolder> holder;  // when the kernel tells
};
LibtpuLock libtpu_lock(const std::filesystem::path& path = "/tmp/libtpu_lockfile");

}  // namespace tp
