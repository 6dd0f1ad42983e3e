#include "runtime/shm_exchange.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "runtime/collectives_inproc.h"
#include "runtime/collectives_shm.h"
#include "sharding/error.h"

namespace tp {
namespace {

// One process per rank; returns how each ended (exit code, or 128 + signal).
std::vector<int> run_processes(int world_size, const std::function<int(int rank, ShmSegment)>& rank_main) {
  const ShmSegment segment = ShmSegment::create(world_size);
  const std::string address = segment.address();
  std::vector<pid_t> children;
  for (int rank = 0; rank < world_size; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      int code = 99;
      try {
        code = rank_main(rank, ShmSegment::open(address, world_size));
      } catch (const std::exception& error) {
        std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
      }
      _exit(code);
    }
    children.push_back(child);
  }
  std::vector<int> codes;
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
  return codes;
}

float value_of(int rank, int64_t i) {
  return static_cast<float>(rank + 1) * 0.37F + static_cast<float>(i % 1013) * 1e-3F;
}

// Sums of many sizes, one call after the other without a pause.
int sum_many(int rank, ShmSegment segment, int world_size) {
  ShmExchange exchange(std::move(segment), rank, world_size, 20);
  for (int64_t count : {1, 7, 512, 2048, 0, 2049, 20000, 65536, 65537, 200003, 3, 1024}) {
    for (int repeat = 0; repeat < 3; ++repeat) {
      std::vector<float> data(static_cast<size_t>(count));
      for (int64_t i = 0; i < count; ++i) data[static_cast<size_t>(i)] = value_of(rank, i);
      exchange.all_reduce_sum(data.data(), count);
      for (int64_t i = 0; i < count; ++i) {
        float sum = 0;
        for (int r = 0; r < world_size; ++r) sum += value_of(r, i);  // in rank order
        if (data[static_cast<size_t>(i)] != sum) return 1;
      }
    }
  }
  return 0;
}

TEST(ShmExchange, SumsInRankOrderOverProcesses) {
  for (int world_size : {2, 3, 8}) {
    EXPECT_EQ(
        run_processes(world_size, [&](int rank, ShmSegment segment) { return sum_many(rank, std::move(segment), world_size); }),
        std::vector<int>(static_cast<size_t>(world_size), 0));
  }
}

TEST(ShmExchange, NamesRanksThatDied) {
  const std::vector<int> codes = run_processes(4, [](int rank, ShmSegment segment) {
    ShmExchange exchange(std::move(segment), rank, 4, 0.3);
    float data[4] = {1, 2, 3, 4};
    exchange.all_reduce_sum(data, 4);
    if (rank == 1 || rank == 3) raise(SIGKILL);
    try {
      exchange.all_reduce_sum(data, 4);
    } catch (const Error& error) {
      return error.text() == "all_reduce: timed out after 0.3 s waiting for rank 1, rank 3" ? 10 : 11;
    }
    return 12;
  });
  EXPECT_EQ(codes, (std::vector<int>{10, 128 + SIGKILL, 10, 128 + SIGKILL}));
}

TEST(ShmExchange, WaitsForARankThatIsLate) {
  EXPECT_EQ(run_processes(2,
                          [](int rank, ShmSegment segment) {
                            ShmExchange exchange(std::move(segment), rank, 2, 10);
                            for (int call = 0; call < 3; ++call) {
                              if (rank == call % 2) std::this_thread::sleep_for(std::chrono::milliseconds(20));
                              float one = 1;
                              exchange.all_reduce_sum(&one, 1);
                              if (one != 2) return 1;
                            }
                            return 0;
                          }),
            (std::vector<int>{0, 0}));
}

TEST(ShmExchange, RefusesWhatIsNotItsSegment) {
  const ShmSegment segment = ShmSegment::create(2);
  const std::string address = segment.address();
  EXPECT_NO_THROW(ShmSegment::open(address, 2));
  EXPECT_THROW(ShmSegment::open("", 2), Error);
  EXPECT_THROW(ShmSegment::open("nonsense", 2), Error);
  EXPECT_THROW(ShmSegment::open("999999999 3 1", 2), Error);
  EXPECT_THROW(ShmSegment::open(address, 3), Error);                                // another size
  EXPECT_THROW(ShmSegment::open(address.substr(0, address.size() - 1), 2), Error);  // another token
  EXPECT_THROW(ShmSegment::open(std::to_string(getpid()) + " 0 1", 2), Error);      // standard input
}

TEST(ShmCommunicator, DoesAllOperationsAsThreads) {
  for (int world_size : {1, 2, 4}) {
    run_ranks(world_size, [&](Communicator& outer) {
      // run_ranks owns the communicator: a pass-through that can be given away.
      struct Borrowed : Communicator {
        explicit Borrowed(Communicator& real) : real_(real) {}
        int rank() const override { return real_.rank(); }
        int world_size() const override { return real_.world_size(); }
        void broadcast(void* data, int64_t size, int root) override { real_.broadcast(data, size, root); }
        void barrier() override { real_.barrier(); }
        void abort(int code) override { real_.abort(code); }
        void set_timeout(double seconds) override { real_.set_timeout(seconds); }
        void sum_over_ranks(float*, int64_t) override { FAIL() << "sums must go through shared memory"; }
        void gather_from_ranks(const void* in, void* out, int64_t size) override { real_.all_gather(in, out, size); }
        Communicator& real_;
      };
      const std::unique_ptr<Communicator> ranks = within_host(std::make_unique<Borrowed>(outer), 20);
      const int rank = ranks->rank();
      if (world_size > 1) {
        std::vector<float> data(100000, static_cast<float>(rank + 1));
        ranks->all_reduce_sum(data.data(), 100000);
        EXPECT_EQ(data, std::vector<float>(100000, static_cast<float>(world_size * (world_size + 1) / 2)));
        EXPECT_EQ(ranks->counts().at("all_reduce").count, 1);
        EXPECT_EQ(ranks->counts().at("all_reduce").bytes, 400000);
      }
      std::vector<char> mine(300001, static_cast<char>('a' + rank)), all(mine.size() * static_cast<size_t>(world_size));
      ranks->all_gather(mine.data(), all.data(), 300001);
      for (int r = 0; r < world_size; ++r) {
        EXPECT_EQ(all[static_cast<size_t>(r) * 300001], 'a' + r);
        EXPECT_EQ(all[static_cast<size_t>(r) * 300001 + 300000], 'a' + r);
      }
      ranks->barrier();
      std::vector<int> tokens(3, rank);
      ranks->broadcast(tokens.data(), 12, world_size - 1);
      EXPECT_EQ(tokens, std::vector<int>(3, world_size - 1));
      EXPECT_EQ(ranks->broadcast_text(rank == 0 ? "hello" : "", 0), "hello");
      EXPECT_EQ(ranks->max(rank), world_size - 1);
    });
  }
}

TEST(ShmExchange, DoesNotWaitForARankThatIsGone) {
  ShmSegment segment = ShmSegment::create(2);
  const std::string address = segment.address();
  const pid_t child = fork();
  if (child == 0) {
    const ShmExchange second(ShmSegment::open(address, 2), 1, 2, 0);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  ShmExchange first(std::move(segment), 0, 2, 0);
  try {
    first.barrier();
    FAIL() << "nobody came, and it did not say so";
  } catch (const Error& error) {
    EXPECT_EQ(error.text(), "barrier: rank 1 is gone");
  }
}

}  // namespace
}  // namespace tp
