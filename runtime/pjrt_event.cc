#include "runtime/pjrt_event.h"

#include <condition_variable>
#include <mutex>

#include "runtime/pjrt_call.h"
#include "sharding/error.h"

namespace tp {
namespace {

// Shared by the waiting thread and the plugin's, of which either may be done with it first.
struct Ready {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  PJRT_Error* error = nullptr;
};

void mark_ready(PJRT_Error* error, void* user_arg) {
  std::unique_ptr<std::shared_ptr<Ready>> ready(static_cast<std::shared_ptr<Ready>*>(user_arg));
  const std::lock_guard lock((*ready)->mutex);
  (*ready)->done = true;
  (*ready)->error = error;
  (*ready)->changed.notify_all();
}

}  // namespace

void wait_for(const PjrtPlugin& plugin, PJRT_Event* event, std::chrono::milliseconds timeout, const char* what) {
  if (event == nullptr) return;
  auto ready = std::make_shared<Ready>();
  auto owned = std::make_unique<std::shared_ptr<Ready>>(ready);
  auto on_ready = pjrt_args<PJRT_Event_OnReady_Args>();
  on_ready.event = event;
  on_ready.callback = mark_ready;
  on_ready.user_arg = owned.get();
  pjrt_call(plugin, &PJRT_Api::PJRT_Event_OnReady, on_ready, "PJRT_Event_OnReady");
  owned.release();  // now the callback's
  std::unique_lock lock(ready->mutex);
  if (!ready->changed.wait_for(lock, timeout, [&] { return ready->done; })) {
    throw Error(plugin.path(), std::string(what) + " did not finish within " + std::to_string(timeout.count() / 1000) + " s",
                "if the device is only slow, raise --timeout");
  }
  auto destroy = pjrt_args<PJRT_Event_Destroy_Args>();
  destroy.event = event;
  pjrt_release(plugin, &PJRT_Api::PJRT_Event_Destroy, destroy);
  pjrt_check(plugin, ready->error, what);
}

}  // namespace tp
