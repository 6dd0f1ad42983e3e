#include "runtime/trace_file.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "runtime/output_file.h"

namespace tp {
namespace {

using Json = nlohmann::ordered_json;

// A span as it travels to rank 0: microseconds since the ranks' common start.
struct TracedSpan {
  char name[24] = {};
  char category[12] = {};
  double begin_us = 0, end_us = 0;
  int64_t bytes = 0;

  bool is_collective() const { return std::strcmp(category, "collective") == 0; }
};

std::string packed(const Timeline& timeline, Span::Clock::time_point origin) {
  const auto microseconds = [&](Span::Clock::time_point time) {
    return std::chrono::duration<double, std::micro>(time - origin).count();
  };
  std::string bytes;
  for (const Span& span : timeline.spans()) {
    TracedSpan traced;
    std::strncpy(traced.name, span.name, sizeof(traced.name) - 1);
    std::strncpy(traced.category, span.category, sizeof(traced.category) - 1);
    traced.begin_us = microseconds(span.begin);
    traced.end_us = microseconds(span.end);
    traced.bytes = span.bytes;
    bytes.append(reinterpret_cast<const char*>(&traced), sizeof(traced));
  }
  return bytes;
}

std::vector<TracedSpan> unpacked(const std::string& bytes) {
  std::vector<TracedSpan> spans(bytes.size() / sizeof(TracedSpan));
  std::memcpy(spans.data(), bytes.data(), spans.size() * sizeof(TracedSpan));
  return spans;
}

// When the last rank came to each collective, in the order of the calls, which is the same on every rank.
std::vector<double> last_arrivals(const std::vector<std::vector<TracedSpan>>& ranks) {
  std::vector<double> last;
  for (const auto& spans : ranks) {
    size_t call = 0;
    for (const TracedSpan& span : spans) {
      if (!span.is_collective()) continue;
      if (call == last.size()) last.push_back(span.begin_us);
      last[call] = std::max(last[call], span.begin_us);
      ++call;
    }
  }
  return last;
}

Json event(const std::string& name, const char* category, size_t rank, double begin_us, double end_us) {
  return {{"name", name},
          {"cat", category},
          {"ph", "X"},
          {"pid", rank},
          {"tid", 0},
          {"ts", begin_us},
          {"dur", std::max(0.0, end_us - begin_us)}};
}

void add_events(const std::vector<TracedSpan>& spans, size_t rank, const std::vector<double>& arrivals, Json& events) {
  events.push_back(
      {{"name", "process_name"}, {"ph", "M"}, {"pid", rank}, {"args", {{"name", "rank " + std::to_string(rank)}}}});
  size_t call = 0;
  for (const TracedSpan& span : spans) {
    if (!span.is_collective()) {
      events.push_back(event(span.name, span.category, rank, span.begin_us, span.end_us));
      continue;
    }
    const double together = std::clamp(arrivals[call++], span.begin_us, span.end_us);
    if (together > span.begin_us) events.push_back(event("wait", "wait", rank, span.begin_us, together));
    events.push_back(event(span.name, span.category, rank, together, span.end_us));
    events.back()["args"] = {{"bytes", span.bytes}};
  }
}

}  // namespace

void write_trace(const std::string& path, const Timeline& timeline, Communicator& communicator) {
  // The clocks of different hosts have nothing in common: times count from the end of a barrier, less the time since then.
  communicator.barrier();
  const std::vector<std::string> all = communicator.collect(packed(timeline, Span::Clock::now()));
  if (communicator.rank() != 0) return;
  std::vector<std::vector<TracedSpan>> ranks;
  double first = 0;
  for (const std::string& bytes : all) {
    ranks.push_back(unpacked(bytes));
    for (const TracedSpan& span : ranks.back()) first = std::min(first, span.begin_us);
  }
  for (auto& spans : ranks) {
    for (TracedSpan& span : spans) {
      span.begin_us -= first;
      span.end_us -= first;
    }
  }
  Json events = Json::array();
  const std::vector<double> arrivals = last_arrivals(ranks);
  for (size_t rank = 0; rank < ranks.size(); ++rank) add_events(ranks[rank], rank, arrivals, events);
  OutputFile(path).write(Json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump() + "\n");
}

}  // namespace tp
