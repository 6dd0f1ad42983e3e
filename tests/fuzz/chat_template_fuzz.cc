#include <cstdint>
#include <string>

#include "runtime/chat_template.h"
#include "sharding/error.h"

// A chat template gives a text or an Error, within its limits of steps and text.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const tp::OrderedJson kMessages = tp::OrderedJson::parse(R"([
    {"role": "system", "content": "Be brief."}, {"role": "user", "content": [{"type": "text", "text": " Hi <é> "}]},
    {"role": "assistant", "content": "A\nB", "tool_calls": [{"function": {"name": "f", "arguments": {"x": [1, 2.5, null]}}}]}])");
  static const tp::OrderedJson kTools = tp::OrderedJson::parse(R"([{"type": "function", "function": {"name": "f"}}])");
  static const tp::OrderedJson kExtra = tp::OrderedJson::parse(R"({"bos_token": "<s>", "eos_token": "</s>"})");
  try {
    tp::render_chat(std::string(reinterpret_cast<const char*>(data), size), "chat_template", kMessages, kTools, true, kExtra);
  } catch (const tp::Error&) {
  }
  return 0;
}
