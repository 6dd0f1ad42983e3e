#include "runtime/collectives_shm.h"

#include <optional>

#include "runtime/shm_exchange.h"
#include "sharding/error.h"

namespace tp {
namespace {

class ShmCommunicator : public Communicator {
 public:
  ShmCommunicator(std::unique_ptr<Communicator> outer, ShmSegment segment, double timeout_s)
      : outer_(std::move(outer)), exchange_(std::move(segment), outer_->rank(), outer_->world_size(), timeout_s) {}

  int rank() const override { return outer_->rank(); }
  int world_size() const override { return outer_->world_size(); }
  void broadcast(void* data, int64_t size_bytes, int root) override { exchange_.broadcast(data, size_bytes, root); }
  void barrier() override { exchange_.barrier(); }
  void abort(int code) override { outer_->abort(code); }
  bool first_to_fail() override { return exchange_.first_to_fail(); }
  void set_timeout(double seconds) override {
    outer_->set_timeout(seconds);
    exchange_.set_timeout(seconds);
  }

 protected:
  void sum_over_ranks(float* data, int64_t count) override { exchange_.all_reduce_sum(data, count); }
  void gather_from_ranks(const void* in, void* out, int64_t size_bytes) override { exchange_.all_gather(in, out, size_bytes); }

 private:
  std::unique_ptr<Communicator> outer_;
  ShmExchange exchange_;
};

// This rank's mapping, made by rank 0 and opened by the others; none where that is not possible: then everybody stays with the
// outer communicator.
std::optional<ShmSegment> attach(Communicator& outer) {
  const int world_size = outer.world_size();
  std::optional<ShmSegment> segment;
  const auto unless_refused = [&](auto make) {
    try {
      segment = make();
    } catch (const Error&) {
      segment.reset();
    }
  };
  if (outer.rank() == 0) unless_refused([&] { return ShmSegment::create(world_size); });
  const std::string address = outer.broadcast_text(segment ? segment->address() : "", 0);
  if (outer.rank() != 0) unless_refused([&] { return ShmSegment::open(address, world_size); });
  return segment;
}

}  // namespace

std::unique_ptr<Communicator> within_host(std::unique_ptr<Communicator> outer, double timeout_s) {
  if (outer->world_size() == 1) return outer;
  std::optional<ShmSegment> segment = attach(*outer);
  const std::vector<int64_t> attached = outer->collect(int64_t{segment.has_value()});
  for (int64_t rank_attached : attached) {
    if (rank_attached == 0) return outer;
  }
  segment->close_address();
  return std::make_unique<ShmCommunicator>(std::move(outer), std::move(*segment), timeout_s);
}

}  // namespace tp
