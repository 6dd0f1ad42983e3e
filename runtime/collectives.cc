#include "runtime/collectives.h"

#include <algorithm>

namespace tp {
namespace {

// Counts one operation from its construction to its end.
class Counted {
 public:
  Counted(CollectiveCount& count, const char* name, int64_t bytes, Timeline* timeline)
      : count_(count), timeline_(timeline), span_{name, "collective", Span::Clock::now(), {}, bytes} {
    ++count_.count;
    count_.bytes += bytes;
  }
  ~Counted() {
    span_.end = Span::Clock::now();
    count_.seconds += span_.seconds();
    if (timeline_) timeline_->add(span_);
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  CollectiveCount& count_;
  Timeline* timeline_;
  Span span_;
};

}  // namespace

void Communicator::all_reduce_sum(float* data, int64_t count) {
  const Counted counted(counts_["all_reduce"], "all_reduce", count * static_cast<int64_t>(sizeof(float)), timeline_);
  sum_over_ranks(data, count);
}

void Communicator::all_gather(const void* in, void* out, int64_t size_bytes) {
  const Counted counted(counts_["all_gather"], "all_gather", size_bytes * world_size(), timeline_);
  gather_from_ranks(in, out, size_bytes);
}

std::vector<int64_t> Communicator::collect(int64_t value) {
  std::vector<int64_t> values(static_cast<size_t>(world_size()));
  gather_from_ranks(&value, values.data(), sizeof(value));
  return values;
}

int64_t Communicator::max(int64_t value) {
  const std::vector<int64_t> values = collect(value);
  return *std::max_element(values.begin(), values.end());
}

std::vector<std::string> Communicator::collect(std::string_view text) {
  const std::vector<int64_t> sizes = collect(static_cast<int64_t>(text.size()));
  const size_t longest = static_cast<size_t>(*std::max_element(sizes.begin(), sizes.end()));
  std::string mine(text), all(longest * sizes.size(), '\0');
  mine.resize(longest);
  gather_from_ranks(mine.data(), all.data(), static_cast<int64_t>(longest));
  std::vector<std::string> texts;
  for (size_t rank = 0; rank < sizes.size(); ++rank)
    texts.push_back(all.substr(rank * longest, static_cast<size_t>(sizes[rank])));
  return texts;
}

std::string Communicator::broadcast_text(std::string_view text, int root) {
  int64_t size = static_cast<int64_t>(text.size());
  broadcast(&size, sizeof(size), root);
  std::string result(rank() == root ? text : std::string_view());
  result.resize(static_cast<size_t>(size));
  broadcast(result.data(), size, root);
  return result;
}

}  // namespace tp
