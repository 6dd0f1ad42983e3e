#include "runtime/serve/answer.h"

namespace tp {

void Answer::put(AnswerEvent event) {
  {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
  }
  changed_.notify_one();
}

std::optional<AnswerEvent> Answer::next(std::chrono::milliseconds wait) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, wait, [&] { return !events_.empty(); })) return std::nullopt;
  AnswerEvent event = std::move(events_.front());
  events_.pop_front();
  return event;
}

}  // namespace tp
