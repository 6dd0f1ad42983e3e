#pragma once

#include <memory>
#include <vector>

#include "launcher/chat_prompt.h"
#include "launcher/options.h"
#include "runtime/job.h"
#include "runtime/tokenizer.h"

namespace tp {

// The prompts of --prompt, --prompt-file, --ids or --input, as ids below vocab_size; exactly one source. `tokenizer` may be null
// when no text has to be encoded; `chat` makes prompts of messages and, with --chat, of every text. `score` also takes
// {"text": …}. Throws Error: no or several sources, text without a tokenizer, ids beyond the vocabulary, an empty prompt; of a
// file all bad lines at once.
std::vector<JobPrompt> read_prompts(const Options& options, const std::shared_ptr<const Tokenizer>& tokenizer,
                                    const ChatPrompt& chat, int64_t vocab_size, bool score);

}  // namespace tp
