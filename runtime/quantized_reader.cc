#include "runtime/quantized_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "runtime/float_convert.h"

namespace tp {
namespace {

// Which nibble of an AWQ word an output is.
constexpr std::array<int, 8> kAwqPlace = {0, 4, 1, 5, 2, 6, 3, 7};

uint32_t word_at(const std::byte* words, int64_t index) {
  uint32_t word;
  std::memcpy(&word, words + index * 4, sizeof(word));
  return word;
}

int nibble(uint32_t word, int64_t place) {
  return static_cast<int>((word >> (4 * place)) & 15U);
}

// Every float8, by its bits.
const std::array<float, 256>& float8_numbers() {
  static const std::array<float, 256> numbers = [] {
    std::array<float, 256> all{};
    for (size_t bits = 0; bits < all.size(); ++bits) all[bits] = float8_to_float(static_cast<uint8_t>(bits));
    return all;
  }();
  return numbers;
}

const std::byte* data_of(const StoredPart& part, const std::vector<MappedFile>& files) {
  return files[static_cast<size_t>(part.file)].data() + part.entry.offset;
}

}  // namespace

float float8_to_float(uint8_t bits) {
  const int exponent = (bits >> 3) & 15, mantissa = bits & 7;
  if (exponent == 15 && mantissa == 7) return NAN;
  const float size = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                                   : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
  return (bits & 0x80) != 0 ? -size : size;
}

QuantizedReader::QuantizedReader(const QuantizedTensor& tensor, const std::vector<MappedFile>& files)
    : tensor_(tensor),
      values_(data_of(tensor.values, files)),
      scales_(data_of(tensor.scales, files)),
      zeros_(tensor.zeros ? data_of(*tensor.zeros, files) : nullptr) {}

int64_t QuantizedReader::scale_index(int64_t output, int64_t group) const {
  return tensor_.scales_transposed() ? group * tensor_.out + output : output / tensor_.group_out * tensor_.groups() + group;
}

uint16_t QuantizedReader::scale_bits(int64_t output, int64_t group) const {
  uint16_t bits;
  std::memcpy(&bits, scales_ + scale_index(output, group) * 2, sizeof(bits));
  return bits;
}

float QuantizedReader::scale(int64_t output, int64_t group) const {
  const DType dtype = tensor_.scales.entry.dtype;
  float value;
  convert_elements(scales_ + scale_index(output, group) * size_bytes(dtype), dtype, &value, DType::kF32, 1);
  return value;
}

int QuantizedReader::zero(int64_t output, int64_t group) const {
  if (zeros_ == nullptr) return tensor_.nibbles() ? 8 : 0;
  switch (tensor_.packing) {
    case StoredPacking::kGptq:
      return nibble(word_at(zeros_, group * (tensor_.out / 8) + output / 8), output % 8) + tensor_.zero_offset;
    case StoredPacking::kAwq:
      return nibble(word_at(zeros_, group * (tensor_.out / 8) + output / 8), kAwqPlace[static_cast<size_t>(output % 8)]);
    case StoredPacking::kPackedInt4: {
      const int64_t row = output / tensor_.group_out;
      return nibble(word_at(zeros_, row / 8 * tensor_.groups() + group), row % 8);
    }
    case StoredPacking::kInt8:
    case StoredPacking::kFloat8:
    case StoredPacking::kPackedInt8:
      break;
  }
  return static_cast<int8_t>(zeros_[output / tensor_.group_out * tensor_.groups() + group]);
}

void QuantizedReader::codes(int64_t output, int64_t begin, int64_t count, int16_t* codes) const {
  const int64_t row = output * tensor_.in;
  for (int64_t i = begin; i < begin + count; ++i) {
    int16_t& code = codes[i - begin];
    switch (tensor_.packing) {
      case StoredPacking::kInt8:
      case StoredPacking::kFloat8:
        code = static_cast<int8_t>(values_[row + i]);
        break;
      case StoredPacking::kPackedInt8:
        code = static_cast<int16_t>(static_cast<int>(values_[row + i]) - 128);
        break;
      case StoredPacking::kPackedInt4:
        code = static_cast<int16_t>((static_cast<unsigned>(values_[(row + i) / 2]) >> (i % 2 * 4)) & 15U);
        break;
      case StoredPacking::kGptq:
        code = static_cast<int16_t>(nibble(word_at(values_, i / 8 * tensor_.out + output), i % 8));
        break;
      case StoredPacking::kAwq:
        code = static_cast<int16_t>(
            nibble(word_at(values_, i * (tensor_.out / 8) + output / 8), kAwqPlace[static_cast<size_t>(output % 8)]));
        break;
    }
  }
}

void QuantizedReader::widen(int64_t output, int64_t begin, int64_t count, float* numbers) const {
  std::array<int16_t, 256> block{};
  const std::array<float, 256>& float8 = float8_numbers();
  for (int64_t i = begin; i < begin + count;) {
    const int64_t group = i / tensor_.group_in;
    const int64_t end = std::min({begin + count, (group + 1) * tensor_.group_in, i + static_cast<int64_t>(block.size())});
    codes(output, i, end - i, block.data());
    const float one = scale(output, group);
    const int none = zero(output, group);
    for (int64_t k = 0; k < end - i; ++k) {
      const int16_t code = block[static_cast<size_t>(k)];
      const float q =
          tensor_.packing == StoredPacking::kFloat8 ? float8[static_cast<uint8_t>(code)] : static_cast<float>(code - none);
      numbers[i - begin + k] = q * one;
    }
    i = end;
  }
}

}  // namespace tp
