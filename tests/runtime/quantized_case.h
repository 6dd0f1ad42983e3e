#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/engine.h"

namespace tp {

// The checkpoints of tests/golden/quantized, by name.
inline constexpr const char* kQuantizedCases[] = {
    "awq",           "compressed_fp8",       "compressed_fp8_tensor",  "compressed_int4", "compressed_int4_zeros",
    "compressed_int8", "compressed_int8_zeros", "compressed_packed_int8", "fp8_blocks",      "gptq",
    "gptq_v2",       "gptq_zeros"};

// One of them with the logits that transformers has for the weights that its integers stand for.
struct QuantizedCase {
  explicit QuantizedCase(const std::string& name);

  std::string dir;
  std::vector<int32_t> ids;
  std::vector<std::vector<float>> logits;  // by position

  // The largest difference of any logit from these.
  double distance(const Logits& from) const;
};

// Of one row, all of it new.
Batch whole_prompt(const std::vector<int32_t>& ids);

double largest_difference(const Logits& a, const Logits& b);

}  // namespace tp
