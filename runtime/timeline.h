#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace tp {

// A piece of one rank's time. `name` and `category` are literals; category is "step", "op" or "collective".
struct Span {
  using Clock = std::chrono::steady_clock;
  const char* name = nullptr;
  const char* category = nullptr;
  Clock::time_point begin, end;
  int64_t bytes = 0;  // payload of a collective

  double seconds() const { return std::chrono::duration<double>(end - begin).count(); }
};

// What a rank did, in the order in which it ended. Keeps the first kMostSpans: enough for some thousand tokens.
class Timeline {
 public:
  static constexpr size_t kMostSpans = size_t{1} << 21;
  void add(const Span& span) {
    if (spans_.size() < kMostSpans) spans_.push_back(span);
  }
  const std::vector<Span>& spans() const { return spans_; }

 private:
  std::vector<Span> spans_;
};

// Adds the time from its construction to its end. A null timeline records nothing.
class TimedSpan {
 public:
  TimedSpan(Timeline* timeline, const char* name, const char* category) : timeline_(timeline) {
    if (timeline_) span_ = {name, category, Span::Clock::now(), {}, 0};
  }
  ~TimedSpan() {
    if (!timeline_) return;
    span_.end = Span::Clock::now();
    timeline_->add(span_);
  }
  TimedSpan(const TimedSpan&) = delete;
  TimedSpan& operator=(const TimedSpan&) = delete;

 private:
  Timeline* timeline_;
  Span span_;
};

}  // namespace tp
