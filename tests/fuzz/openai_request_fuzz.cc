#include <cstdint>
#include <cstdlib>
#include <string>

#include "runtime/serve/openai_request.h"
#include "sharding/error.h"

// The body of a request is refused with an Error or gives prompts that fit the vocabulary and the cache. Its first byte says
// which of the two kinds of request it is.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const tp::ChatPrompt chat("/nonexistent", "", "");
  static const tp::RequestRules rules{nullptr, chat, "model", 100, 64, {}, 0};
  if (size == 0) return 0;
  try {
    const std::string body(reinterpret_cast<const char*>(data) + 1, size - 1);
    for (const tp::QueuedPrompt& queued : tp::read_openai_request(body, data[0] % 2 == 1, rules).prompts) {
      const auto tokens = static_cast<int64_t>(queued.prompt.ids.size());
      if (tokens == 0 || queued.prompt.max_new_tokens < 1 || tokens + queued.prompt.max_new_tokens > 64) std::abort();
      for (const int32_t id : queued.prompt.ids) {
        if (id < 0 || id >= 100) std::abort();
      }
    }
  } catch (const tp::Error&) {
  }
  return 0;
}
