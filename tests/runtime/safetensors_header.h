#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tp {

struct HeaderTensor {
  std::string name, dtype;  // "F32"
  std::vector<int64_t> shape;

  int64_t elements() const;
};

// The beginning of a safetensors file, up to the data, of tensors that lie one behind the other.
std::string safetensors_header(const std::vector<HeaderTensor>& tensors);

}  // namespace tp
