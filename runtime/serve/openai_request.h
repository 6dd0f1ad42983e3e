#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/chat_prompt.h"
#include "runtime/prompt_options.h"
#include "runtime/serve/queued_prompt.h"
#include "runtime/tokenizer.h"

namespace tp {

// What requests are read with and held against.
struct RequestRules {
  std::shared_ptr<const Tokenizer> tokenizer;  // null: prompts are ids, answers have no text
  const ChatPrompt& chat;
  std::string model;  // the name that a request may give
  int64_t vocab_size = 0, cache_len = 0;
  PromptOptions defaults;
  int64_t max_new_tokens = 0;  // when a request does not say; 0 = OpenAI's: 16, of a conversation what the cache has left
};

// A request for completions or, with `chat`, for the next message of a conversation.
struct OpenAiRequest {
  bool chat = false;
  std::vector<QueuedPrompt> prompts;  // one per choice: the samples of the first prompt, of the second, …
  int64_t samples = 1;                // choices of each prompt
  bool stream = false, include_usage = false;
  bool echo = false;  // the prompt's text comes first
};

// Reads the body of a request. Throws Error for what is not understood or does not fit; another model's name is
// Error{where = "model"}.
OpenAiRequest read_openai_request(const std::string& body, bool chat, const RequestRules& rules);

}  // namespace tp
