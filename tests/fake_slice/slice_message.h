#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tp::fake_slice {

// One argument of an execution as its owner describes it to a peer: a buffer's number, and its elements if the peer has not
// seen them yet.
struct ArgumentMessage {
  uint64_t id = 0;
  bool has_data = false;
  int32_t type = 0;
  std::vector<int64_t> dims;
  std::string data;
};

// What a rank tells a peer before both run a program.
struct ExecutionMessage {
  std::string program;  // which program, and for the how manieth time: must be the same on all ranks
  uint64_t first_output_id = 0;
  std::vector<uint64_t> forgotten;  // numbers of buffers that the owner destroyed
  std::vector<ArgumentMessage> arguments;
};

std::string encode(const ExecutionMessage& message);
// Throws SliceError for bytes that encode did not write.
ExecutionMessage decode(const std::string& bytes);

}  // namespace tp::fake_slice
