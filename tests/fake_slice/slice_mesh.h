#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace tp::fake_slice {

// Connections between all ranks of one job on one host: a Unix socket in the abstract namespace for each pair. They have no
// name in any file system, so nothing is left when the job ends however it ends, and a rank that dies is noticed at once.
class SliceMesh {
 public:
  // Meets the other ranks of `job`. Throws SliceError naming the ranks that did not come within `timeout`.
  SliceMesh(int rank, int world_size, const std::string& job, std::chrono::milliseconds timeout);
  SliceMesh(const SliceMesh&) = delete;
  SliceMesh& operator=(const SliceMesh&) = delete;
  ~SliceMesh();

  // Sends messages[p] to every rank p in it and receives one from each of them. Throws SliceError naming the ranks that
  // are gone or did not answer within the timeout; `what` says what they are waited for.
  std::map<int, std::string> exchange(const std::map<int, std::string>& messages, const std::string& what);

 private:
  void meet(int listener, std::chrono::steady_clock::time_point deadline);

  int rank_, world_size_;
  std::string job_;
  std::chrono::milliseconds timeout_;
  std::vector<int> peers_;  // socket by rank; -1: self
};

}  // namespace tp::fake_slice
