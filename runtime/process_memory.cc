#include "runtime/process_memory.h"

#include <fstream>
#include <string>

namespace tp {

int64_t anonymous_bytes() {
  std::ifstream rollup("/proc/self/smaps_rollup");
  std::string key;
  while (rollup >> key) {
    if (key != "Anonymous:") continue;
    int64_t kilobytes = 0;
    rollup >> kilobytes;
    return kilobytes * 1024;
  }
  return 0;
}

}  // namespace tp
