#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/generate.h"
#include "runtime/serve/answer.h"
#include "runtime/serve/queued_prompt.h"
#include "runtime/serve/serve_counts.h"
#include "runtime/stop_text.h"
#include "runtime/tokenizer.h"

namespace tp {

// Requests of many threads on their way to the one that generates, and its tokens on their way back. Rank 0 has one.
class RequestQueue : public TokenSink {
 public:
  // `tokenizer` may be null: answers have no text. At most `most_waiting` prompts wait for one of the `slots`. A token of
  // `eos_token_ids` that ends a continuation is no text.
  RequestQueue(const Tokenizer* tokenizer, std::vector<int32_t> eos_token_ids, size_t most_waiting, size_t slots);

  // --- threads that answer ---
  // Takes all prompts of a request; the answer's choices are numbered as they come. nullptr: too many wait, or it is closed.
  std::shared_ptr<Answer> add(std::vector<QueuedPrompt> prompts);
  // Nobody waits for this any more.
  void cancel(const std::shared_ptr<Answer>& answer);
  size_t most() const { return most_waiting_ + slots_; }  // prompts of one request
  bool closed() const;
  ServeCounts counts() const;

  // --- the thread that generates ---
  // What came since the last call, `wanted` prompts at most; waits that long for something when there is nothing.
  PromptArrivals take(int64_t wanted, std::chrono::milliseconds wait);
  // No new requests. What is in the queue is still given out.
  void close();
  // Closes, and ends whatever is left: nothing will be generated any more.
  void end_all();
  void started(size_t index, int64_t reused) override;
  void logprobs(size_t index, const TokenLogprobs& logprobs) override;
  bool token(size_t index, int32_t id) override;
  void finished(size_t index, FinishReason reason) override;

 private:
  // A continuation that is waiting or in flight.
  struct Row {
    std::shared_ptr<Answer> answer;
    size_t choice = 0;
    StopText stop;
    std::unique_ptr<StreamDecoder> decoder;
    std::optional<TokenLogprobs> logprobs;
    std::chrono::steady_clock::time_point added;
    bool ignore_eos = false;
    bool begun = false;
    int64_t reused_tokens = 0;
  };
  using Clock = std::chrono::steady_clock;

  Row& row_of(size_t index);

  const Tokenizer* tokenizer_;
  const std::vector<int32_t> eos_token_ids_;
  const size_t most_waiting_, slots_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<size_t, GeneratePrompt>> waiting_;
  std::vector<size_t> cancelled_;
  std::map<size_t, Row> rows_;  // by index; the reference of a row stays good while others come and go
  size_t next_index_ = 0;
  bool closed_ = false;
  ServeCounts counts_;
};

// Whatever ends the generating, nobody is left waiting for an answer.
class EndOfQueue {
 public:
  explicit EndOfQueue(RequestQueue& queue) : queue_(queue) {}
  ~EndOfQueue() { queue_.end_all(); }
  EndOfQueue(const EndOfQueue&) = delete;
  EndOfQueue& operator=(const EndOfQueue&) = delete;

 private:
  RequestQueue& queue_;
};

}  // namespace tp
