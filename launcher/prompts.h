#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "launcher/generation_settings.h"
#include "launcher/options.h"
#include "runtime/chat_prompt.h"
#include "runtime/job.h"
#include "runtime/tokenizer.h"

namespace tp {

// What prompts are made with and held against.
struct PromptRules {
  std::shared_ptr<const Tokenizer> tokenizer;  // null: no text can be encoded
  const ChatPrompt& chat;                      // makes prompts of messages and, with --chat, of every text
  int64_t vocab_size = 0;
  const GenerationSettings& settings;
  std::optional<int64_t> cache_len;  // what is longer with its continuation is refused
  bool score = false;                // {"text": …} is a prompt too, and nothing is generated
};

// The prompts of --prompt, --prompt-file, --ids or --input, as ids below vocab_size; exactly one source. A prompt of several
// continuations is there as often. Throws Error: no or several sources, text without a tokenizer, ids beyond the vocabulary,
// an empty prompt, one that is too long; of a file all bad lines at once. With --skip-bad they become prompts with an error.
std::vector<JobPrompt> read_prompts(const Options& options, const PromptRules& rules);

}  // namespace tp
