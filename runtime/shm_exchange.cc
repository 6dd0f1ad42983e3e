#include "runtime/shm_exchange.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <sstream>
#include <utility>

#include "runtime/cpu/spin_wait.h"
#include "sharding/error.h"

namespace tp {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kSlotBytes = int64_t{256} << 10;
// Header, marks, two halves of slots, the sums.
constexpr int64_t segment_bytes(int64_t world_size) {
  return 64 * (world_size + 1) + kSlotBytes * (2 * world_size + 1);
}
constexpr int64_t kSlotFloats = kSlotBytes / static_cast<int64_t>(sizeof(float));
// Bytes up to which every rank reads all slots whole; above it each sums a part, for one more wait.
constexpr int64_t kWholeBytes = int64_t{128} << 10;
// A step is usually over long before; then the rank sleeps, and looks at its deadline this often. Where ranks share cores the
// one that is waited for may need this very core: who spins there holds up everybody (4 ranks on 2 cores: 44 us a sum, not 14).
constexpr std::chrono::microseconds kSpinFor{30}, kSpinOnSharedCoresFor{1};
constexpr long kSleepNs = 50'000'000;

Error system_error(const std::string& what) {
  return Error("shared memory", what + ": " + std::strerror(errno));
}

long futex(std::atomic<uint32_t>& word, int operation, uint32_t value, const timespec* timeout) {
  return syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), operation, value, timeout, nullptr, 0);
}

std::string seconds_text(double seconds) {
  std::ostringstream text;
  text.precision(1);
  text << std::fixed << seconds << " s";
  return text.str();
}

}  // namespace

struct ShmSegment::Header {
  uint64_t token;  // tells this segment from whatever else an address might lead to
  uint64_t world_size;
  std::atomic<uint32_t> failed;  // a rank has an error to show
};

// What one rank has posted, on a cache line of its own.
struct alignas(64) ShmSegment::Mark {
  std::atomic<uint32_t> step;
  std::atomic<uint32_t> sleepers;  // ranks that sleep until `step` changes
  std::atomic<int32_t> process;    // the rank's process; 0 = it has not come yet
};

static_assert(std::atomic<uint32_t>::is_always_lock_free);

ShmSegment::ShmSegment(int fd, int world_size) : fd_(fd), world_size_(world_size) {
  size_bytes_ = static_cast<size_t>(segment_bytes(world_size));
  void* memory = mmap(nullptr, size_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (memory == MAP_FAILED) {
    const Error error = system_error("cannot map " + std::to_string(size_bytes_) + " bytes");
    close(std::exchange(fd_, -1));
    throw error;
  }
  memory_ = static_cast<std::byte*>(memory);
}

ShmSegment::ShmSegment(ShmSegment&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      world_size_(other.world_size_),
      size_bytes_(other.size_bytes_),
      memory_(std::exchange(other.memory_, nullptr)) {}

ShmSegment& ShmSegment::operator=(ShmSegment&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(world_size_, other.world_size_);
  std::swap(size_bytes_, other.size_bytes_);
  std::swap(memory_, other.memory_);
  return *this;
}

ShmSegment::~ShmSegment() {
  close_address();
  if (memory_ != nullptr) munmap(memory_, size_bytes_);
}

ShmSegment ShmSegment::create(int world_size) {
  const int fd = memfd_create("tprun ranks", MFD_CLOEXEC);
  if (fd < 0) throw system_error("cannot create it");
  if (ftruncate(fd, segment_bytes(world_size)) != 0) {
    const Error error = system_error("cannot size it");
    close(fd);
    throw error;
  }
  ShmSegment segment(fd, world_size);
  Header& header = segment.header();
  if (getrandom(&header.token, sizeof(header.token), 0) != sizeof(header.token)) throw system_error("no random number");
  header.world_size = static_cast<uint64_t>(world_size);
  return segment;
}

ShmSegment ShmSegment::open(const std::string& address, int world_size) {
  std::istringstream parts(address);
  int64_t process = 0, descriptor = 0;
  uint64_t token = 0;
  if (!(parts >> process >> descriptor >> token)) throw Error("shared memory", "'" + address + "' is no address");
  const std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(descriptor);
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) throw system_error("cannot open " + path);
  // Anything may hide behind a process number of another host: look before mapping it.
  struct stat status {};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size != segment_bytes(world_size)) {
    close(fd);
    throw Error("shared memory", path + " is another file");
  }
  ShmSegment segment(fd, world_size);
  if (segment.header().token != token || segment.header().world_size != static_cast<uint64_t>(world_size)) {
    throw Error("shared memory", path + " is another segment");
  }
  segment.close_address();
  return segment;
}

std::string ShmSegment::address() const {
  return std::to_string(getpid()) + " " + std::to_string(fd_) + " " + std::to_string(header().token);
}

void ShmSegment::close_address() {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

ShmSegment::Header& ShmSegment::header() const {
  return *reinterpret_cast<Header*>(memory_);
}
ShmSegment::Mark& ShmSegment::mark(int rank) const {
  return *reinterpret_cast<Mark*>(memory_ + 64 * (rank + 1));
}
std::byte* ShmSegment::slot(int rank, uint32_t step) const {
  return memory_ + 64 * (world_size_ + 1) + kSlotBytes * (2 * rank + static_cast<int64_t>(step % 2));
}
float* ShmSegment::sums() const {
  return reinterpret_cast<float*>(memory_ + 64 * (world_size_ + 1) + kSlotBytes * 2 * world_size_);
}

bool ShmSegment::claim_failure() const {
  return header().failed.exchange(1) == 0;
}

ShmExchange::ShmExchange(ShmSegment segment, int rank, int world_size, double timeout_s)
    : segment_(std::move(segment)),
      rank_(rank),
      world_size_(world_size),
      timeout_s_(timeout_s),
      spin_for_(world_size > sysconf(_SC_NPROCESSORS_ONLN) ? kSpinOnSharedCoresFor : kSpinFor) {
  segment_.mark(rank_).process.store(getpid());
}

bool ShmExchange::posted(int rank) const {
  return static_cast<int32_t>(segment_.mark(rank).step.load(std::memory_order_acquire) - step_) >= 0;
}

std::string ShmExchange::missing() const {
  std::string names;
  for (int rank = 0; rank < world_size_; ++rank) {
    if (!posted(rank)) names += (names.empty() ? "rank " : ", rank ") + std::to_string(rank);
  }
  return names;
}

void ShmExchange::step(const char* operation) {
  ++step_;
  ShmSegment::Mark& mine = segment_.mark(rank_);
  // Sequentially consistent against wait_for: either the sleeper is seen here, or it sees the new step.
  mine.step.store(step_);
  if (mine.sleepers.load() > 0) futex(mine.step, FUTEX_WAKE, INT32_MAX, nullptr);
  for (int i = 1; i < world_size_; ++i) wait_for((rank_ + i) % world_size_, operation);
}

void ShmExchange::wait_for(int rank, const char* operation) {
  const auto ready = [&] { return posted(rank); };
  if (cpu::spin(ready, spin_for_)) return;
  const auto begin = Clock::now();
  ShmSegment::Mark& theirs = segment_.mark(rank);
  while (!ready()) {
    if (timeout_s_ > 0 && std::chrono::duration<double>(Clock::now() - begin).count() > timeout_s_) {
      throw Error(operation, "timed out after " + seconds_text(timeout_s_) + " waiting for " + missing());
    }
    // Nobody wakes who waits for a process that was killed.
    const int32_t process = theirs.process.load();
    if (process != 0 && kill(process, 0) != 0 && errno == ESRCH && !ready())
      throw Error(operation, "rank " + std::to_string(rank) + " is gone");
    const timespec sleep{0, kSleepNs};
    theirs.sleepers.fetch_add(1);
    const uint32_t seen = theirs.step.load();
    if (static_cast<int32_t>(seen - step_) < 0) futex(theirs.step, FUTEX_WAIT, seen, &sleep);
    theirs.sleepers.fetch_sub(1);
  }
}

void ShmExchange::sum_slots(uint32_t step, int64_t begin, int64_t end, float* out) const {
  // Blocks that stay in the first cache, rank by rank, so that the additions are in rank order and in vectors.
  constexpr int64_t kBlock = 1024;
  for (int64_t at = begin; at < end; at += kBlock) {
    const int64_t count = std::min(kBlock, end - at);
    float* sum = out + (at - begin);
    std::fill_n(sum, count, 0.0F);
    for (int rank = 0; rank < world_size_; ++rank) {
      const float* part = reinterpret_cast<const float*>(segment_.slot(rank, step)) + at;
      for (int64_t i = 0; i < count; ++i) sum[i] += part[i];
    }
  }
}

void ShmExchange::sum_whole(float* data, int64_t count) {
  std::memcpy(segment_.slot(rank_, step_ + 1), data, static_cast<size_t>(count) * sizeof(float));
  step("all_reduce");
  sum_slots(step_, 0, count, data);
}

void ShmExchange::sum_by_parts(float* data, int64_t count) {
  const int64_t part = (count + world_size_ - 1) / world_size_;
  const int64_t begin = std::min(count, part * rank_), end = std::min(count, begin + part);
  std::memcpy(segment_.slot(rank_, step_ + 1), data, static_cast<size_t>(count) * sizeof(float));
  step("all_reduce");
  // Everybody has posted this step, so is done with the sums of any step before.
  sum_slots(step_, begin, end, segment_.sums() + begin);
  step("all_reduce");
  std::memcpy(data, segment_.sums(), static_cast<size_t>(count) * sizeof(float));
}

void ShmExchange::all_reduce_sum(float* data, int64_t count) {
  if (world_size_ == 1) return;
  const int64_t whole = kWholeBytes / world_size_ / static_cast<int64_t>(sizeof(float));
  for (int64_t at = 0; at < count; at += kSlotFloats) {
    const int64_t chunk = std::min(kSlotFloats, count - at);
    if (chunk <= whole) {
      sum_whole(data + at, chunk);
    } else {
      sum_by_parts(data + at, chunk);
    }
  }
}

void ShmExchange::all_gather(const void* in, void* out, int64_t size_bytes, const char* operation) {
  for (int64_t at = 0; at < size_bytes; at += kSlotBytes) {
    const auto chunk = static_cast<size_t>(std::min(kSlotBytes, size_bytes - at));
    std::memcpy(segment_.slot(rank_, step_ + 1), static_cast<const std::byte*>(in) + at, chunk);
    step(operation);
    for (int rank = 0; rank < world_size_; ++rank) {
      std::memcpy(static_cast<std::byte*>(out) + rank * size_bytes + at, segment_.slot(rank, step_), chunk);
    }
  }
}

void ShmExchange::broadcast(void* data, int64_t size_bytes, int root) {
  for (int64_t at = 0; at < size_bytes; at += kSlotBytes) {
    const auto chunk = static_cast<size_t>(std::min(kSlotBytes, size_bytes - at));
    std::byte* mine = static_cast<std::byte*>(data) + at;
    if (rank_ == root) std::memcpy(segment_.slot(root, step_ + 1), mine, chunk);
    step("broadcast");
    if (rank_ != root) std::memcpy(mine, segment_.slot(root, step_), chunk);
  }
}

}  // namespace tp
