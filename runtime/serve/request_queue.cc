#include "runtime/serve/request_queue.h"

#include <algorithm>

namespace tp {

RequestQueue::RequestQueue(const Tokenizer* tokenizer, std::vector<int32_t> eos_token_ids, size_t most_waiting, size_t slots)
    : tokenizer_(tokenizer), eos_token_ids_(std::move(eos_token_ids)), most_waiting_(most_waiting), slots_(slots) {}

std::shared_ptr<Answer> RequestQueue::add(std::vector<QueuedPrompt> prompts) {
  auto answer = std::make_shared<Answer>();
  {
    const std::lock_guard lock(mutex_);
    // What has a slot, and what soon gets one that is free, does not wait.
    if (closed_ || rows_.size() + prompts.size() > most()) {
      if (!closed_) ++counts_.refused;
      return nullptr;
    }
    size_t choice = 0;
    for (QueuedPrompt& queued : prompts) {
      const size_t index = next_index_++;
      Row row{
          answer,       choice++,     StopText(queued.stop),   tokenizer_ ? tokenizer_->stream(/*skip_special=*/true) : nullptr,
          std::nullopt, Clock::now(), queued.prompt.ignore_eos};
      rows_.emplace(index, std::move(row));
      waiting_.emplace_back(index, std::move(queued.prompt));
    }
  }
  changed_.notify_one();
  return answer;
}

void RequestQueue::cancel(const std::shared_ptr<Answer>& answer) {
  const std::lock_guard lock(mutex_);
  for (const auto& [index, row] : rows_) {
    if (row.answer == answer) cancelled_.push_back(index);
  }
}

bool RequestQueue::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

ServeCounts RequestQueue::counts() const {
  const std::lock_guard lock(mutex_);
  ServeCounts counts = counts_;
  counts.waiting = static_cast<int64_t>(waiting_.size());
  counts.running = static_cast<int64_t>(rows_.size() - waiting_.size());
  return counts;
}

PromptArrivals RequestQueue::take(int64_t wanted, std::chrono::milliseconds wait) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, wait, [&] { return !waiting_.empty() || !cancelled_.empty() || closed_; });
  PromptArrivals arrivals;
  // A continuation that nobody waits for must not begin; the generating loop knows only those that it was given.
  for (const size_t index : std::exchange(cancelled_, {})) {
    const auto waits =
        std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& prompt) { return prompt.first == index; });
    if (waits == waiting_.end()) {
      if (rows_.contains(index)) arrivals.cancelled.push_back(index);
    } else {
      waiting_.erase(waits);
      rows_.erase(index);
      ++counts_.cancelled;
    }
  }
  for (; wanted > 0 && !waiting_.empty(); --wanted) {
    counts_.prompt_tokens += static_cast<int64_t>(waiting_.front().second.ids.size());
    arrivals.prompts.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  arrivals.last = closed_ && waiting_.empty();
  return arrivals;
}

void RequestQueue::close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

void RequestQueue::end_all() {
  close();
  const std::lock_guard lock(mutex_);
  for (auto& [index, row] : rows_) row.answer->put({row.choice, -1, "", std::nullopt, FinishReason::kInterrupted});
  rows_.clear();
  waiting_.clear();
}

void RequestQueue::started(size_t index, int64_t reused) {
  row_of(index).reused_tokens = reused;
  const std::lock_guard lock(mutex_);
  counts_.reused_prompt_tokens += reused;
}

RequestQueue::Row& RequestQueue::row_of(size_t index) {
  const std::lock_guard lock(mutex_);
  return rows_.at(index);
}

void RequestQueue::logprobs(size_t index, const TokenLogprobs& logprobs) {
  row_of(index).logprobs = logprobs;
}

// Rows that were given out are the generating thread's own; the lock is for the map and the counts.
bool RequestQueue::token(size_t index, int32_t id) {
  Row& row = row_of(index);
  AnswerEvent event{row.choice, id, "", std::exchange(row.logprobs, std::nullopt), std::nullopt};
  const bool ends = !row.ignore_eos && std::find(eos_token_ids_.begin(), eos_token_ids_.end(), id) != eos_token_ids_.end();
  if (row.decoder && !ends) event.text = row.stop.push(row.decoder->push(id));
  row.answer->put(std::move(event));
  const std::lock_guard lock(mutex_);
  ++counts_.generated_tokens;
  if (!std::exchange(row.begun, true)) {
    const double waited_s = std::chrono::duration<double>(Clock::now() - row.added).count();
    const auto& bounds = ServeCounts::kBounds;
    ++counts_
          .first_token_buckets[static_cast<size_t>(std::lower_bound(bounds.begin(), bounds.end(), waited_s) - bounds.begin())];
    counts_.first_token_sum_s += waited_s;
  }
  return row.stop.found();
}

void RequestQueue::finished(size_t index, FinishReason reason) {
  Row& row = row_of(index);
  AnswerEvent event{row.choice, -1, "", std::nullopt, reason, row.reused_tokens};
  if (row.decoder) event.text = row.stop.push(row.decoder->finish()) + row.stop.finish();
  row.answer->put(std::move(event));
  const std::lock_guard lock(mutex_);
  rows_.erase(index);
  switch (reason) {
    case FinishReason::kEos:
      ++counts_.finished_eos;
      break;
    case FinishReason::kStop:
      ++counts_.finished_stop;
      break;
    case FinishReason::kLength:
      ++counts_.finished_length;
      break;
    case FinishReason::kCancelled:
    case FinishReason::kInterrupted:
      ++counts_.cancelled;
      break;
  }
}

}  // namespace tp
