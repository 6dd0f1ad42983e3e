#include "tests/runtime/safetensors_header.h"

#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

namespace tp {

int64_t HeaderTensor::elements() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

std::string safetensors_header(const std::vector<HeaderTensor>& tensors) {
  nlohmann::ordered_json header;
  int64_t offset = 0;
  for (const HeaderTensor& tensor : tensors) {
    const int64_t end = offset + tensor.elements() * (tensor.dtype == "F32" ? 4 : tensor.dtype == "U8" ? 1 : 2);
    header[tensor.name] = {{"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string length;
  for (int shift = 0; shift < 64; shift += 8) length += static_cast<char>(text.size() >> shift);
  return length + text;
}

}  // namespace tp
