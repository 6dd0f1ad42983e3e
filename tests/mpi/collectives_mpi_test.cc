// Run under mpirun: the MPI collectives against written-out results. Prints nothing and exits 0 when all ranks agree.
#include "runtime/collectives_mpi.h"

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "sharding/error.h"

namespace {

void require(bool right, const char* what) {
  if (!right) throw tp::Error("", std::string("wrong: ") + what);
}

// Small sums are one exchange, large ones go by parts; sizes around the border and ones that ranks do not divide.
void check_sums(tp::Communicator& ranks) {
  for (int64_t count : {1, 7, 8192, 8193, 100003}) {
    std::vector<float> data(static_cast<size_t>(count));
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>((ranks.rank() + 1) * static_cast<int>(i % 100));
    ranks.all_reduce_sum(data.data(), count);
    const int factor = ranks.world_size() * (ranks.world_size() + 1) / 2;
    for (size_t i = 0; i < data.size(); ++i) require(data[i] == static_cast<float>(factor * static_cast<int>(i % 100)), "sum");
  }
}

void check_order(tp::Communicator& ranks) {
  // In rank order this is (1e8 + 1) - 1e8 …; every rank must get those bits.
  float value = ranks.rank() == 0 ? 1e8f : 1.0f, want = 1e8f;
  for (int rank = 1; rank < ranks.world_size(); ++rank) want += 1.0f;
  ranks.all_reduce_sum(&value, 1);
  require(value == want, "order of the sum");
}

void check_messages(tp::Communicator& ranks) {
  const std::vector<int64_t> values = ranks.collect(int64_t{ranks.rank() * 3});
  for (size_t rank = 0; rank < values.size(); ++rank) require(values[rank] == static_cast<int64_t>(rank) * 3, "collect");
  const int last = ranks.world_size() - 1;
  require(ranks.broadcast_text(ranks.rank() == last ? std::string(100000, 'x') : "", last) == std::string(100000, 'x'), "text");
  ranks.barrier();
}

// The last rank stays away: the others must name it within the timeout.
void check_timeout(tp::Communicator& ranks) {
  const int last = ranks.world_size() - 1;
  if (ranks.rank() == last) {
    std::this_thread::sleep_for(std::chrono::seconds(2));
    ranks.barrier();
    return;
  }
  ranks.set_timeout(0.2);
  std::string text;
  try {
    ranks.barrier();
  } catch (const tp::Error& error) {
    text = error.text();
  }
  require(text.starts_with("barrier: timed out after 0.2 s waiting for rank "), ("timeout says: " + text).c_str());
  require(text.ends_with("rank " + std::to_string(last)), "missing rank");
}

}  // namespace

int main(int argc, char** argv) {
  const std::unique_ptr<tp::Communicator> ranks = tp::join_mpi(20);
  try {
    if (argc > 1 && std::string(argv[1]) == "abort") {
      if (ranks->rank() == 1) ranks->abort(7);
      ranks->barrier();
      return 0;
    }
    check_sums(*ranks);
    check_order(*ranks);
    check_messages(*ranks);
    if (ranks->world_size() > 1) check_timeout(*ranks);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", ranks->rank(), error.what());
    ranks->abort(1);
  }
  return 0;
}
