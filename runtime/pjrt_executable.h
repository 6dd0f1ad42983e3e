#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/pjrt_buffer.h"
#include "runtime/pjrt_plugin.h"

struct PJRT_Executable;
struct PJRT_LoadedExecutable;

namespace tp {

// Bytes of device memory that one device needs to run a program, as the compiler counts them.
struct CompiledMemory {
  int64_t argument_bytes = 0;
  int64_t output_bytes = 0;
  int64_t temp_bytes = 0;
  int64_t alias_bytes = 0;  // arguments whose memory an output takes over
  int64_t peak_bytes = 0;
};

// A compiled program, not bound to devices.
class PjrtExecutable {
 public:
  PjrtExecutable(std::shared_ptr<const PjrtPlugin> plugin, PJRT_Executable* executable)
      : plugin_(std::move(plugin)), executable_(executable) {}
  PjrtExecutable(PjrtExecutable&& other) noexcept;
  PjrtExecutable& operator=(PjrtExecutable&&) = delete;
  ~PjrtExecutable();

  CompiledMemory memory() const;
  // Bytes that the same plugin on the same platform loads again.
  std::string serialize() const;
  size_t num_outputs() const;

 private:
  std::shared_ptr<const PjrtPlugin> plugin_;
  PJRT_Executable* executable_;
};

// One argument list, or one list of results, per device that the process can address, in the program's device order.
using PjrtArguments = std::vector<std::vector<const PjrtBuffer*>>;
using PjrtResults = std::vector<std::vector<PjrtBuffer>>;

// A compiled program on the devices of a client.
class PjrtProgram {
 public:
  PjrtProgram(std::shared_ptr<const PjrtClient> client, PJRT_LoadedExecutable* executable);
  PjrtProgram(PjrtProgram&& other) noexcept;
  PjrtProgram& operator=(PjrtProgram&&) = delete;
  ~PjrtProgram();

  // Runs the program and waits until it is done. Arguments that the program aliases with a result (tf.aliasing_output) are
  // consumed. With several processes every one calls it, for its own devices; throws Error when the plugin or a peer fails.
  PjrtResults execute(const PjrtArguments& arguments) const;
  PjrtExecutable executable() const;

 private:
  std::shared_ptr<const PjrtClient> client_;
  PJRT_LoadedExecutable* executable_;
  size_t num_outputs_ = 0;
};

}  // namespace tp
