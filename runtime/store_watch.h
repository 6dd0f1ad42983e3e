#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/store_keys.h"

namespace tp {

// Watches a job over the store from a thread of its own, since the rank itself may wait for the others inside a compiled
// program: shows this rank's sign of life and looks for the end of the job. Rank 0, where the store is, also looks at the signs
// of the others and ends the job when one falls silent. When another rank has ended the job, or the store is gone, this process
// says so and exits with the job's code.
class StoreWatch {
 public:
  // `keys` is used by the watch alone.
  StoreWatch(std::unique_ptr<StoreKeys> keys, int rank, int world_size);
  // Leaves the job in good order: rank 0 when all others have left.
  ~StoreWatch();
  StoreWatch(const StoreWatch&) = delete;
  StoreWatch& operator=(const StoreWatch&) = delete;

  // Tells the others that this rank ends the job with `code`, and gives them a moment to see it.
  void end_job(int code);

 private:
  struct Sign {
    std::string value;
    double since_s = 0;
  };

  void run();
  void look();
  bool all_left();
  void say_farewell();
  [[noreturn]] void leave_lost_job(int code, const std::string& why);
  void stop_thread();

  std::unique_ptr<StoreKeys> keys_;
  int rank_, world_size_;
  int64_t beat_ = 0;
  std::vector<Sign> signs_;  // rank 0: of every rank
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false, ended_ = false;
  std::thread thread_;
};

}  // namespace tp
