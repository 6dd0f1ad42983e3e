#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "runtime/parameter_table.h"
#include "sharding/checkpoint.h"
#include "sharding/model_config.h"

namespace tp {

// A Llama of one layer, written for a test: config.json and model.safetensors with float32 or bfloat16 values.
struct MadeCheckpoint {
  int64_t vocab = 8, hidden = 8, intermediate = 6, heads = 2, kv_heads = 2;
  bool tied = false;
  std::string dtype = "F32";  // F32 | BF16
  // Bytes of a first tensor that no module uses; one that is no multiple of the element moves the others off their alignment.
  int64_t bytes_before = 0;
  // Element i of tensor number t (in file order); nullptr = all zero, and the file stays sparse.
  std::function<float(int64_t t, int64_t i)> value;

  void write(const std::filesystem::path& dir) const;
};

// What `rank` of `tp_size` holds of the checkpoint in `dir` by the default plan.
ParameterTable made_table(const std::filesystem::path& dir, int tp_size, int rank);

}  // namespace tp
