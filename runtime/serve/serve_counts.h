#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace tp {

// Counters of a server, since its start.
struct ServeCounts {
  // Upper bounds of the buckets of first_token_s, in seconds; one more bucket has what is above.
  static constexpr std::array<double, 12> kBounds = {0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60};

  int64_t waiting = 0, running = 0;  // now
  int64_t prompt_tokens = 0, reused_prompt_tokens = 0, generated_tokens = 0;
  int64_t finished_eos = 0, finished_stop = 0, finished_length = 0, cancelled = 0, refused = 0;
  std::array<int64_t, kBounds.size() + 1> first_token_buckets{};
  double first_token_sum_s = 0;
};

// In Prometheus' text format.
std::string prometheus_text(const ServeCounts& counts, int tp_size);

}  // namespace tp
