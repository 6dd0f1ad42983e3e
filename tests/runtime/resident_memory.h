#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace tp {

// How much of this process's memory is its own, and how much is pages of files. Bytes.
struct ResidentMemory {
  int64_t anonymous = 0, file = 0;
};

inline ResidentMemory resident_memory() {
  std::ifstream rollup("/proc/self/smaps_rollup");
  std::string key;
  int64_t rss = 0, anonymous = 0;
  while (rollup >> key) {
    if (key == "Rss:") rollup >> rss;
    if (key == "Anonymous:") rollup >> anonymous;
  }
  return {anonymous * 1024, (rss - anonymous) * 1024};
}

}  // namespace tp
