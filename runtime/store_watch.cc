#include "runtime/store_watch.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "sharding/error.h"

namespace tp {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kBeat{250};
constexpr double kSilentS = 8;    // without a sign of life a rank is taken for dead
constexpr double kFarewellS = 3;  // until the others have seen that the job is over
constexpr const char* kEnded = "ended";
constexpr const char* kLeft = "left";
constexpr int kExitFailed = 1;

std::string sign_key(int rank) {
  return "alive/" + std::to_string(rank);
}

double now_s() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

}  // namespace

StoreWatch::StoreWatch(std::unique_ptr<StoreKeys> keys, int rank, int world_size)
    : keys_(std::move(keys)), rank_(rank), world_size_(world_size), signs_(static_cast<size_t>(world_size)) {
  for (Sign& sign : signs_) sign.since_s = now_s();
  thread_ = std::thread([this] { run(); });
}

StoreWatch::~StoreWatch() {
  stop_thread();
  if (ended_) return;
  try {
    keys_->set(sign_key(rank_), kLeft);
    // An answer means that the store has the mark: this process may go.
    keys_->has(sign_key(rank_));
    while (rank_ == 0 && !all_left()) {
      look();
      std::this_thread::sleep_for(kBeat / 10);
    }
  } catch (const Error& error) {
    // Rank 0 stays until the others have left, so this is not the end of a job that went well.
    leave_lost_job(kExitFailed, "rank 0 is gone: " + error.text());
  }
}

void StoreWatch::stop_thread() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void StoreWatch::run() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    lock.unlock();
    try {
      keys_->set(sign_key(rank_), std::to_string(++beat_));
      look();
    } catch (const Error& error) {
      leave_lost_job(kExitFailed, "rank 0 is gone: " + error.text());
    }
    lock.lock();
    stopped_.wait_for(lock, kBeat, [this] { return stop_; });
  }
}

void StoreWatch::look() {
  if (const auto ended = keys_->get(kEnded)) {
    std::istringstream words(*ended);
    int rank = 0, code = kExitFailed;
    words >> rank >> code;
    leave_lost_job(code, "rank " + std::to_string(rank) + " ended the job");
  }
  if (rank_ != 0) return;
  for (int rank = 1; rank < world_size_; ++rank) {
    Sign& sign = signs_[static_cast<size_t>(rank)];
    const std::string value = keys_->get(sign_key(rank)).value_or("");
    if (value != sign.value || value.empty() || value == kLeft) {
      sign = {value, now_s()};
    } else if (now_s() - sign.since_s > kSilentS) {
      keys_->set(kEnded, std::to_string(rank) + " " + std::to_string(kExitFailed));
      leave_lost_job(kExitFailed, "rank " + std::to_string(rank) + " is gone: no sign of life for " +
                                      std::to_string(static_cast<int>(kSilentS)) + " s");
    }
  }
}

bool StoreWatch::all_left() {
  for (int rank = 1; rank < world_size_; ++rank) {
    if (keys_->get(sign_key(rank)) != kLeft) return false;
  }
  return true;
}

void StoreWatch::end_job(int code) {
  stop_thread();
  ended_ = true;
  try {
    if (!keys_->has(kEnded)) keys_->set(kEnded, std::to_string(rank_) + " " + std::to_string(code));
    say_farewell();
  } catch (const Error&) {
    // The store is gone, and everybody sees that.
  }
}

void StoreWatch::say_farewell() {
  keys_->set(sign_key(rank_), kLeft);
  const double end_s = now_s() + kFarewellS;
  while (rank_ == 0 && now_s() < end_s && !all_left()) std::this_thread::sleep_for(kBeat / 10);
}

void StoreWatch::leave_lost_job(int code, const std::string& why) {
  const std::string line = "tprun: rank " + std::to_string(rank_) + ": error: " + why + "\n";
  std::fputs(line.c_str(), stderr);
  try {
    say_farewell();
  } catch (const Error&) {
    // Nobody is left to be told.
  }
  std::_Exit(code);
}

}  // namespace tp
