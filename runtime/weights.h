#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "runtime/integer_weight.h"
#include "runtime/packed_weights.h"
#include "runtime/parameter_table.h"
#include "sharding/checkpoint.h"
#include "sharding/mapped_file.h"

namespace tp {

// How linear weights lie in memory.
enum class LinearLayout {
  kStored,  // [out, in] as in the file, or as integers (IntegerWeight): what is copied to a device
  kPacked,  // as the CPU's kernels read them (PackedWeights)
};

struct LoadOptions {
  LinearLayout layout = LinearLayout::kStored;
  bool in_place = true;  // --load-format mmap; copy = nothing keeps pointing into the files
  int threads = 1;
  // Called from one thread at a time while loading.
  std::function<void(int64_t done_bytes, int64_t total_bytes)> progress;
};

// The tensors of one rank in the model's dtype. A slice that lies in one piece in its file and has that dtype is used where
// it is mapped; the others are copied, and converted, straight to their final place in one block of memory. Padding is zero.
// Pages that were only copied from are let go. What is stored quantized is widened. Parameters that share their stored slice
// (tied weights) share memory. Linear weights of another kind than kStored become integers; with LinearLayout::kPacked all
// linear weights are packed.
class Weights {
 public:
  // Throws Error for a tensor that is not stored or a file that cannot be mapped.
  static Weights load(const ParameterTable& table, const Checkpoint& checkpoint, DType dtype, const LoadOptions& options);

  Weights(Weights&&) noexcept;
  Weights& operator=(Weights&&) = delete;
  ~Weights();

  DType dtype() const { return dtype_; }  // the model's
  DType dtype(const Parameter& parameter) const { return parameter.keep_float32 ? DType::kF32 : dtype_; }
  // nullptr for what is packed or integers.
  const std::byte* data(ParamId id) const { return data_[static_cast<size_t>(id)]; }
  // With LinearLayout::kPacked alone.
  const PackedWeights& packed() const { return packed_.value(); }
  // Of a parameter whose kind is not kStored. With LinearLayout::kStored alone.
  const IntegerWeight& integers(ParamId id) const { return integers_.at(id); }
  // Bytes of one parameter, scales and zero points included.
  int64_t bytes(const Parameter& parameter) const { return parameter_bytes(parameter, dtype_); }
  static int64_t parameter_bytes(const Parameter& parameter, DType dtype);
  // Bytes of this rank's tensors, padding included, shared ones once.
  int64_t total_bytes() const { return total_bytes_; }

 private:
  Weights() = default;

  DType dtype_ = DType::kF32;
  std::vector<MappedFile> files_;
  std::vector<const std::byte*> data_;
  std::span<std::byte> block_;  // anonymous memory of what was copied
  std::optional<PackedWeights> packed_;
  std::map<ParamId, IntegerWeight> integers_;
  int64_t total_bytes_ = 0;
};

}  // namespace tp
