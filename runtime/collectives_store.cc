#include "runtime/collectives_store.h"

#include <cstdlib>
#include <cstring>

#include "runtime/store_watch.h"
#include "sharding/error.h"

namespace tp {
namespace {

constexpr int kExitFailed = 1;

class StoreCommunicator : public Communicator {
 public:
  StoreCommunicator(const StorePlace& place, double timeout_s)
      : place_(place),
        timeout_s_(timeout_s),
        keys_(place.host, place.port, place.rank == 0, timeout_s),
        watch_(std::make_unique<StoreKeys>(place.host, place.port, false, timeout_s), place.rank, place.world_size) {
    try {
      exchange("start", "");
    } catch (const Error&) {
      watch_.end_job(kExitFailed);
      throw;
    }
  }

  int rank() const override { return place_.rank; }
  int world_size() const override { return place_.world_size; }

  void broadcast(void* data, int64_t size_bytes, int root) override {
    const std::string key = next_key() + "/" + std::to_string(root);
    if (place_.rank == root) {
      keys_.set(key, {static_cast<const char*>(data), static_cast<size_t>(size_bytes)});
      mine_.push_back(key);
      return;
    }
    const std::string value = values_of("broadcast", {key}, {root})[0];
    if (value.size() != static_cast<size_t>(size_bytes)) throw Error("broadcast", "ranks disagree on what comes next");
    std::memcpy(data, value.data(), value.size());
  }

  void barrier() override { exchange("barrier", ""); }

  void abort(int code) override {
    watch_.end_job(code);
    std::_Exit(code);
  }

  bool first_to_fail() override {
    try {
      return keys_.add("failures", 1) == 1;
    } catch (const Error&) {
      return true;  // nobody can be asked
    }
  }

  void set_timeout(double seconds) override { timeout_s_ = seconds; }

 protected:
  void sum_over_ranks(float*, int64_t) override {
    throw Error("all_reduce", "ranks that several tpruns started have no channel for tensors",
                "--host or --hostfile, from one host: then Open MPI carries them");
  }

  void gather_from_ranks(const void* in, void* out, int64_t size_bytes) override {
    const std::vector<std::string> values =
        exchange("all_gather", {static_cast<const char*>(in), static_cast<size_t>(size_bytes)});
    for (size_t rank = 0; rank < values.size(); ++rank) {
      if (values[rank].size() != static_cast<size_t>(size_bytes))
        throw Error("all_gather", "ranks disagree on what comes next");
      std::memcpy(static_cast<char*>(out) + rank * values[rank].size(), values[rank].data(), values[rank].size());
    }
  }

 private:
  std::string next_key() { return std::to_string(++step_); }

  // Every rank's value, in rank order.
  std::vector<std::string> exchange(const char* operation, const std::string& mine) {
    const std::string step = next_key();
    std::vector<std::string> keys;
    std::vector<int> ranks;
    for (int rank = 0; rank < place_.world_size; ++rank) {
      keys.push_back(step + "/" + std::to_string(rank));
      ranks.push_back(rank);
    }
    keys_.set(keys[static_cast<size_t>(place_.rank)], mine);
    std::vector<std::string> values = values_of(operation, keys, ranks);
    // All have come to this step, so nobody reads what was posted before it.
    for (const std::string& old : mine_) keys_.erase(old);
    mine_ = {keys[static_cast<size_t>(place_.rank)]};
    return values;
  }

  std::vector<std::string> values_of(const char* operation, const std::vector<std::string>& keys,
                                     const std::vector<int>& ranks) {
    if (!keys_.wait(keys, timeout_s_)) {
      std::string missing;
      for (size_t i = 0; i < keys.size(); ++i) {
        if (!keys_.has(keys[i])) missing += (missing.empty() ? "rank " : ", rank ") + std::to_string(ranks[i]);
      }
      const std::string seconds = std::to_string(timeout_s_);
      throw Error(operation, "timed out after " + seconds.substr(0, seconds.find('.') + 2) + " s waiting for " + missing);
    }
    return keys_.get_all(keys);
  }

  StorePlace place_;
  double timeout_s_;
  StoreKeys keys_;
  StoreWatch watch_;
  int64_t step_ = 0;
  std::vector<std::string> mine_;  // keys that this rank has posted and not yet erased
};

}  // namespace

std::unique_ptr<Communicator> join_store(const StorePlace& place, double timeout_s) {
  return std::make_unique<StoreCommunicator>(place, timeout_s);
}

}  // namespace tp
