#include <algorithm>
#include <cstring>

#include "sharding/error.h"
#include "sharding/mapped_file.h"
#include "sharding/quantized.h"

namespace tp {
namespace {

enum class Fault { kNone, kNotANumber, kInfinite, kNegative };

// From the bits, whatever the format: `mantissa` of them below the exponent.
Fault fault_of(uint32_t bits, int width, int mantissa) {
  const uint32_t sign = uint32_t{1} << (width - 1), infinity = (sign - 1) >> mantissa << mantissa,
                 magnitude = bits & (sign - 1);
  if (magnitude > infinity) return Fault::kNotANumber;
  if (magnitude == infinity) return Fault::kInfinite;
  return magnitude != bits && magnitude != 0 ? Fault::kNegative : Fault::kNone;
}

template <class Word>
std::pair<Fault, int64_t> first_fault(const std::byte* data, int64_t count, int mantissa, bool negative_is_right) {
  for (int64_t i = 0; i < count; ++i) {
    Word bits;
    std::memcpy(&bits, data + i * static_cast<int64_t>(sizeof(Word)), sizeof(Word));
    const Fault fault = fault_of(bits, static_cast<int>(sizeof(Word)) * 8, mantissa);
    if (fault != Fault::kNone && !(negative_is_right && fault == Fault::kNegative)) return {fault, i};
  }
  return {Fault::kNone, 0};
}

void check_scale(const QuantizedTensor& tensor, const MappedFile& file) {
  const TensorEntry& entry = tensor.scales.entry;
  const std::byte* data = file.data() + entry.offset;
  const int64_t count = entry.size_bytes / size_bytes(entry.dtype);
  const bool signed_grid = tensor.packing == StoredPacking::kPackedInt4 && !tensor.zeros;
  const auto [fault, index] = entry.dtype == DType::kF32   ? first_fault<uint32_t>(data, count, 23, signed_grid)
                              : entry.dtype == DType::kF16 ? first_fault<uint16_t>(data, count, 10, signed_grid)
                                                           : first_fault<uint16_t>(data, count, 7, signed_grid);
  if (fault == Fault::kNone) return;
  const char* what = fault == Fault::kNegative ? "negative" : fault == Fault::kInfinite ? "infinite" : "NaN";
  throw Error(tensor.scales.name, "scale " + std::to_string(index) + " is " + what, "the checkpoint is damaged: get it again");
}

void check_group_index(const QuantizedTensor& tensor, const MappedFile& file) {
  const std::byte* data = file.data() + tensor.group_index->entry.offset;
  for (int64_t i = 0; i < tensor.in; ++i) {
    int32_t group = 0;
    std::memcpy(&group, data + i * 4, sizeof(group));
    if (group == i / tensor.group_in) continue;
    throw Error(tensor.group_index->name, "the groups are in the order of activations (act-order), which is not supported",
                "use a checkpoint that was made without act-order (`desc_act`: false)");
  }
}

// Of a GPTQ weight that config.json calls symmetric.
void check_zeros(const QuantizedTensor& tensor, const MappedFile& file) {
  const uint32_t all = static_cast<uint32_t>(8 - tensor.zero_offset) * 0x11111111U;
  const std::byte* data = file.data() + tensor.zeros->entry.offset;
  for (int64_t i = 0; i < tensor.zeros->entry.size_bytes / 4; ++i) {
    uint32_t word = 0;
    std::memcpy(&word, data + i * 4, sizeof(word));
    if (word == all) continue;
    throw Error(tensor.zeros->name, "has other zero points than 8, but `sym` is true",
                "the checkpoint is damaged, or `sym` is false");
  }
}

}  // namespace

void check_scales(const Checkpoint& checkpoint) {
  std::vector<MappedFile> files;
  for (const auto& path : checkpoint.files) files.emplace_back(path);
  for (const auto& [name, stored] : checkpoint.tensors) {
    if (!stored.quantized) continue;
    const QuantizedTensor& tensor = *stored.quantized;
    check_scale(tensor, files[static_cast<size_t>(tensor.scales.file)]);
    if (tensor.zeros && tensor.symmetric) check_zeros(tensor, files[static_cast<size_t>(tensor.zeros->file)]);
    if (tensor.group_index) check_group_index(tensor, files[static_cast<size_t>(tensor.group_index->file)]);
  }
}

}  // namespace tp
