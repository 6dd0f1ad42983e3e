#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/generate.h"

namespace tp {

// One step of the answer to a request.
struct AnswerEvent {
  size_t choice = 0;   // which of the request's continuations
  int32_t token = -1;  // -1: none, the continuation ended
  std::string text;    // what the token completes; a stop text and what follows it is left out
  std::optional<TokenLogprobs> logprobs;
  std::optional<FinishReason> finish;
  int64_t reused_tokens = 0;  // with `finish`: of the prompt, found in the cache
};

// The way from the generating thread to the thread that answers a request.
class Answer {
 public:
  void put(AnswerEvent event);
  // The next event; nullopt when none comes within `wait`.
  std::optional<AnswerEvent> next(std::chrono::milliseconds wait);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<AnswerEvent> events_;
};

}  // namespace tp
