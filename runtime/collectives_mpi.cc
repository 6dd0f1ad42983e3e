#include "runtime/collectives_mpi.h"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>

#include "sharding/error.h"

namespace tp {
namespace {

using Clock = std::chrono::steady_clock;

// How long a wait tests its requests at once; then it sleeps between two tests. A short wait costs no switch, and in a long one
// ranks that share a core don't starve each other, nor whoever they wait for. A count of tests would not do: with more ranks
// than cores Open MPI yields in each of them, which on a busy machine takes milliseconds.
constexpr std::chrono::microseconds kSpinFor{100};
constexpr timespec kSleep{0, 20'000};
// A rank that fails gives rank 0 this long to show the same error and end the job.
constexpr timespec kFailurePause{0, 300'000'000};
// Below this a sum is one exchange of whole vectors; above it each rank sums a part and the parts are gathered.
constexpr int64_t kExchangeFloats = 8192;
// Of one message: MPI counts in int.
constexpr int64_t kMessageBytes = int64_t{1} << 30;

void require_success(int code, const char* operation) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(operation, "MPI: " + std::string(text, static_cast<size_t>(length)));
}

// Point-to-point messages of one collective. Sums in rank order come out of them with the same bits on every rank, each
// wait has its deadline, and the ranks that did not come are known, all of which MPI's own collectives don't give.
class Exchange {
 public:
  Exchange(const char* operation, double timeout_s) : operation_(operation), timeout_s_(timeout_s) {}
  // After a failure nothing may arrive any more in memory that the caller gives up.
  ~Exchange() {
    for (MPI_Request& request : requests_) {
      if (request == MPI_REQUEST_NULL) continue;
      MPI_Cancel(&request);
      MPI_Request_free(&request);
    }
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  void send(const void* data, int64_t size_bytes, int peer) {
    for (int64_t at = 0; at < size_bytes; at += kMessageBytes) {
      MPI_Request request;
      const int size = static_cast<int>(std::min(kMessageBytes, size_bytes - at));
      require_success(MPI_Isend(static_cast<const char*>(data) + at, size, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &request),
                      operation_);
      add(request, peer);
    }
  }

  void receive(void* data, int64_t size_bytes, int peer) {
    for (int64_t at = 0; at < size_bytes; at += kMessageBytes) {
      MPI_Request request;
      const int size = static_cast<int>(std::min(kMessageBytes, size_bytes - at));
      require_success(MPI_Irecv(static_cast<char*>(data) + at, size, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &request), operation_);
      add(request, peer);
    }
  }

  void wait() {
    const Clock::time_point begin = Clock::now();
    for (;;) {
      int done = 0;
      require_success(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE),
                      operation_);
      if (done) break;
      const std::chrono::duration<double> waited = Clock::now() - begin;
      if (timeout_s_ > 0 && waited.count() > timeout_s_)
        throw Error(operation_, "timed out after " + seconds() + " waiting for " + missing());
      if (waited > kSpinFor) nanosleep(&kSleep, nullptr);
    }
    requests_.clear();
    peers_.clear();
  }

 private:
  void add(MPI_Request request, int peer) {
    requests_.push_back(request);
    peers_.push_back(peer);
  }

  std::string seconds() const {
    std::string text = std::to_string(timeout_s_);
    return text.substr(0, text.find('.') + 2) + " s";
  }

  std::string missing() const {
    std::vector<int> ranks;
    for (size_t i = 0; i < requests_.size(); ++i)
      if (requests_[i] != MPI_REQUEST_NULL) ranks.push_back(peers_[i]);
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    std::string names;
    for (int rank : ranks) names += (names.empty() ? "rank " : ", rank ") + std::to_string(rank);
    return names;
  }

  const char* operation_;
  double timeout_s_;
  std::vector<MPI_Request> requests_;
  std::vector<int> peers_;
};

class MpiCommunicator : public Communicator {
 public:
  explicit MpiCommunicator(double timeout_s) : timeout_s_(timeout_s) {
    int provided = 0;
    require_success(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
    require_success(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    require_success(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    require_success(MPI_Comm_size(MPI_COMM_WORLD, &world_size_), "MPI_Comm_size");
  }
  ~MpiCommunicator() override { MPI_Finalize(); }

  int rank() const override { return rank_; }
  int world_size() const override { return world_size_; }

  void broadcast(void* data, int64_t size_bytes, int root) override {
    Exchange exchange("broadcast", timeout_s_);
    if (rank_ == root) {
      for_others([&](int peer) { exchange.send(data, size_bytes, peer); });
    } else {
      exchange.receive(data, size_bytes, root);
    }
    exchange.wait();
  }

  void barrier() override {
    Exchange exchange("barrier", timeout_s_);
    const char mine = 0;
    std::vector<char> theirs(static_cast<size_t>(world_size_));
    for_others([&](int peer) {
      exchange.receive(&theirs[static_cast<size_t>(peer)], 1, peer);
      exchange.send(&mine, 1, peer);
    });
    exchange.wait();
  }

  void abort(int code) override {
    MPI_Abort(MPI_COMM_WORLD, code);
    std::_Exit(code);
  }

  // A signal in the pause means that the job is being ended.
  bool first_to_fail() override { return rank_ == 0 || nanosleep(&kFailurePause, nullptr) == 0; }
  void set_timeout(double seconds) override { timeout_s_ = seconds; }

 protected:
  void sum_over_ranks(float* data, int64_t count) override {
    if (world_size_ == 1) return;
    if (count <= kExchangeFloats) {
      sum_whole(data, count);
    } else {
      sum_by_parts(data, count);
    }
  }

  void gather_from_ranks(const void* in, void* out, int64_t size_bytes) override {
    Exchange exchange("all_gather", timeout_s_);
    char* slots = static_cast<char*>(out);
    std::memcpy(slots + rank_ * size_bytes, in, static_cast<size_t>(size_bytes));
    for_others([&](int peer) {
      exchange.receive(slots + peer * size_bytes, size_bytes, peer);
      exchange.send(in, size_bytes, peer);
    });
    exchange.wait();
  }

 private:
  // Starts with the next rank so that not all send to the same one at once.
  template <class Action>
  void for_others(Action action) const {
    for (int step = 1; step < world_size_; ++step) action((rank_ + step) % world_size_);
  }

  // data[i] = sum in rank order of parts[rank][i], where this rank's part is `data` itself.
  void sum_in_order(float* data, int64_t count) const {
    for (int64_t i = 0; i < count; ++i) {
      float sum = 0.0f;
      for (int rank = 0; rank < world_size_; ++rank)
        sum += rank == rank_ ? data[i] : parts_[static_cast<size_t>(rank * count + i)];
      data[i] = sum;
    }
  }

  void sum_whole(float* data, int64_t count) {
    parts_.resize(static_cast<size_t>(count * world_size_));
    const int64_t size_bytes = count * static_cast<int64_t>(sizeof(float));
    Exchange exchange("all_reduce", timeout_s_);
    for_others([&](int peer) {
      exchange.receive(&parts_[static_cast<size_t>(peer * count)], size_bytes, peer);
      exchange.send(data, size_bytes, peer);
    });
    exchange.wait();
    sum_in_order(data, count);
  }

  void sum_by_parts(float* data, int64_t count) {
    const int64_t part = (count + world_size_ - 1) / world_size_;
    const auto begin = [&](int rank) { return std::min(count, part * rank); };
    const auto bytes = [&](int rank) { return (begin(rank + 1) - begin(rank)) * static_cast<int64_t>(sizeof(float)); };
    const int64_t mine = begin(rank_ + 1) - begin(rank_);
    parts_.resize(static_cast<size_t>(part * world_size_));
    Exchange scatter("all_reduce", timeout_s_);
    for_others([&](int peer) {
      scatter.receive(&parts_[static_cast<size_t>(peer * mine)], bytes(rank_), peer);
      scatter.send(data + begin(peer), bytes(peer), peer);
    });
    scatter.wait();
    sum_in_order(data + begin(rank_), mine);
    Exchange gather("all_reduce", timeout_s_);
    for_others([&](int peer) {
      gather.receive(data + begin(peer), bytes(peer), peer);
      gather.send(data + begin(rank_), bytes(rank_), peer);
    });
    gather.wait();
  }

  double timeout_s_;
  int rank_ = 0, world_size_ = 1;
  std::vector<float> parts_;  // what other ranks sent, [world_size, count]
};

}  // namespace

std::unique_ptr<Communicator> join_mpi(double timeout_s) {
  return std::make_unique<MpiCommunicator>(timeout_s);
}

}  // namespace tp
