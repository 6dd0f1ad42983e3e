#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/pjrt_executable.h"
#include "runtime/pjrt_plugin.h"

struct PJRT_TopologyDescription;

namespace tp {

// Chips that need not be here: what a plugin can compile for.
class PjrtTopology {
 public:
  // `name` as the plugin spells it ("v5e:2x2"); one process per chip. Where the plugin shows more devices than `devices`, as
  // libtpu does for v4, those of each chip's first core are taken. Throws Error with the plugin's words for a bad name.
  PjrtTopology(std::shared_ptr<const PjrtPlugin> plugin, const std::string& name, size_t devices);
  PjrtTopology(const PjrtTopology&) = delete;
  PjrtTopology& operator=(const PjrtTopology&) = delete;
  ~PjrtTopology();

  size_t device_count() const { return device_ids_.size(); }
  // Of one device, as the compiler counts; 0 when the plugin does not tell.
  int64_t memory_limit_bytes() const { return memory_limit_bytes_; }
  // Compiles StableHLO text for `replicas` replicas on the first devices.
  PjrtExecutable compile(const std::string& text, size_t replicas) const;

 private:
  std::shared_ptr<const PjrtPlugin> plugin_;
  PJRT_TopologyDescription* topology_ = nullptr;
  std::vector<int64_t> device_ids_;
  int64_t memory_limit_bytes_ = 0;
};

}  // namespace tp
