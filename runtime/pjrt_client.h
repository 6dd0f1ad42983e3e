#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/pjrt_buffer.h"
#include "runtime/pjrt_executable.h"
#include "runtime/pjrt_plugin.h"
#include "sharding/dtype.h"

struct PJRT_Client;
struct PJRT_Device;

namespace tp {

struct PjrtClientOptions {
  std::map<std::string, int64_t> create;                         // the plugin's own, e.g. cpu_device_count
  std::chrono::milliseconds timeout = std::chrono::minutes(10);  // bound of every wait for the device
};

struct PjrtDevice {
  PJRT_Device* device = nullptr;
  int64_t id = 0;
  int64_t process_index = 0;
};

// A plugin's view of the chips of one job: devices of all processes, of which this one can address its own.
class PjrtClient : public std::enable_shared_from_this<PjrtClient> {
 public:
  static std::shared_ptr<const PjrtClient> create(std::shared_ptr<const PjrtPlugin> plugin,
                                                  const PjrtClientOptions& options = {});
  ~PjrtClient();

  const PjrtPlugin& plugin() const { return *plugin_; }
  std::shared_ptr<const PjrtPlugin> shared_plugin() const { return plugin_; }
  std::chrono::milliseconds timeout() const { return timeout_; }
  std::string platform_name() const;
  std::string platform_version() const;
  int64_t process_index() const;

  // In the order of process_index, then id: with one device per process, device r belongs to rank r.
  const std::vector<PjrtDevice>& devices() const { return devices_; }
  const std::vector<PjrtDevice>& addressable_devices() const { return addressable_; }

  // Coordinates of the device's chip in its slice, [x, y, z]; empty where the plugin does not tell (libtpu's attribute
  // `coords`).
  std::vector<int64_t> coordinates(const PjrtDevice& device) const;

  // `data` row-major; it may be freed on return. `device` is an index into addressable_devices().
  PjrtBuffer to_device(const void* data, DType dtype, const std::vector<int64_t>& shape, size_t device = 0) const;
  // Integers from -8 to 7, one in a byte, which the device keeps two in a byte.
  PjrtBuffer int4_to_device(const void* data, const std::vector<int64_t>& shape, size_t device = 0) const;
  // Compiles StableHLO text for one replica per device of devices(), in that order.
  PjrtProgram compile(const std::string& text) const;
  // What PjrtExecutable::serialize wrote. Throws Error for bytes of another plugin or platform.
  PjrtProgram load(const std::string& serialized) const;

 private:
  PjrtClient(std::shared_ptr<const PjrtPlugin> plugin, PJRT_Client* client, std::chrono::milliseconds timeout);
  PjrtBuffer copied_to_device(const void* data, int type, const std::vector<int64_t>& shape, size_t device) const;
  PjrtDevice describe(PJRT_Device* device) const;

  std::shared_ptr<const PjrtPlugin> plugin_;
  PJRT_Client* client_;
  std::chrono::milliseconds timeout_;
  std::vector<PjrtDevice> devices_, addressable_;
};

}  // namespace tp
