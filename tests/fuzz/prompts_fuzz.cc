#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "launcher/prompts.h"
#include "runtime/chat_prompt.h"
#include "sharding/error.h"

namespace {

constexpr int64_t kVocabSize = 100;

// A file in memory with this text; its path stays good until the next call.
std::string path_of(const uint8_t* data, size_t size) {
  static const int file = memfd_create("prompts", 0);
  if (file < 0 || ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != static_cast<ssize_t>(size)) std::abort();
  return "/proc/self/fd/" + std::to_string(file);
}

}  // namespace

// A JSONL file of prompts is refused with an Error or gives prompts whose ids are in the vocabulary.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const tp::Options options = tp::parse_options({"generate", "--input", path_of(data, size)});
  const tp::ChatPrompt no_chat("/nonexistent", "", "");
  const tp::GenerationSettings settings;
  try {
    for (const tp::JobPrompt& prompt :
         tp::read_prompts(options, {nullptr, no_chat, kVocabSize, settings, std::nullopt, false})) {
      for (const auto id : prompt.ids) {
        if (id < 0 || id >= kVocabSize) std::abort();
      }
    }
  } catch (const tp::Error&) {
  }
  return 0;
}
