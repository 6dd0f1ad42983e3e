#pragma once

#include <cstdint>
#include <vector>

#include "sharding/mapped_file.h"
#include "sharding/quantized_tensor.h"

namespace tp {

// The numbers of a stored quantized weight, in the mapped files, whatever the order is in which a method packs them. Outputs
// and inputs are those of the whole weight [out, in].
class QuantizedReader {
 public:
  QuantizedReader(const QuantizedTensor& tensor, const std::vector<MappedFile>& files);

  // Inputs [begin, begin + count) of an output as numbers: (q - zero) * scale.
  void widen(int64_t output, int64_t begin, int64_t count, float* numbers) const;
  // The same as the method's integers: of nibbles() 0 to 15, otherwise int8. Not for kFloat8.
  void codes(int64_t output, int64_t begin, int64_t count, int16_t* codes) const;

  float scale(int64_t output, int64_t group) const;
  // The two bytes of a scale in F16 or BF16.
  uint16_t scale_bits(int64_t output, int64_t group) const;
  // What stands for zero among the codes.
  int zero(int64_t output, int64_t group) const;

 private:
  int64_t scale_index(int64_t output, int64_t group) const;

  const QuantizedTensor& tensor_;
  const std::byte *values_, *scales_, *zeros_;  // zeros_ nullptr = none
};

// float8_e4m3fn, as 1.4.3 bits with a bias of 7; 0x7f is NaN, there is no infinity.
float float8_to_float(uint8_t bits);

}  // namespace tp
