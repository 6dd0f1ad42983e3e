#pragma once

#include <cstdint>
#include <string>

namespace tp {

// How a server listens and what it bounds.
struct ServeOptions {
  std::string bind = "127.0.0.1";
  int64_t port = 8000;            // 0 = any that is free
  std::string api_key;            // empty = nobody is asked for one
  std::string model_name;         // what requests call the model
  int64_t most_waiting = 256;     // continuations that wait for a slot; more are refused with 429
  int64_t request_bytes = 0;      // largest body
  double request_timeout_s = 0;   // from a request's arrival to the end of its answer
  double arrival_timeout_s = 30;  // for the header of a request, and for its body
};

}  // namespace tp
