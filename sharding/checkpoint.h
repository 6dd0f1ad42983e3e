#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sharding/parameters.h"
#include "sharding/quantized_tensor.h"
#include "sharding/safetensors.h"

namespace tp {

struct StoredTensor {
  TensorEntry entry;
  int file = 0;  // index into Checkpoint::files
  // Where a method has stored the weight in several tensors; `entry` then has the weight's own shape and the dtype of its
  // scales, F32 counted as BF16.
  std::shared_ptr<const QuantizedTensor> quantized;
};

// The weights of a model directory, by name; nothing but headers has been read.
struct Checkpoint {
  std::filesystem::path dir;
  std::vector<std::filesystem::path> files;
  std::map<std::string, StoredTensor> tensors;

  // The tensor under `name`, with or without the leading "model." as the file has it; nullptr when there is none.
  const StoredTensor* find(const std::string& name) const;
};

// model.safetensors, or the files that model.safetensors.index.json names. What `quantization_config` of config.json describes
// is gathered (quantized.h). Throws Error for missing files (all listed), a bad index, bad headers.
Checkpoint open_checkpoint(const std::filesystem::path& dir);

// {tensor: file name} of the text of a model.safetensors.index.json that messages call `path`. Throws Error for another form
// and for a file name that leads out of the directory.
std::map<std::string, std::string> parse_safetensors_index(std::string_view text, const std::string& path);

// Where a part of a module's weight lies: the whole of it, or [row_begin, row_begin + rows of `tensor`) of one expert. Rows
// outside the weight are those of the others that `tensor` holds.
struct WeightSource {
  const StoredTensor* tensor = nullptr;
  int64_t expert = -1;  // -1: the tensor is the whole weight
  int64_t row_begin = 0;
};

// The tensors that make up the weight of a module: one, or for experts that are stored apart experts x parts of them. Empty
// when something is missing.
std::vector<WeightSource> weight_sources(const Checkpoint& checkpoint, const ModuleSpec& module);

// The weight of a module in one piece (in which others may lie, ModuleSpec::stored_rows), and its bias, under any of their
// names; nullptr when there is none.
const StoredTensor* find_weight(const Checkpoint& checkpoint, const ModuleSpec& module);
const StoredTensor* find_bias(const Checkpoint& checkpoint, const ModuleSpec& module);

// Whether the head has a tensor of its own, under any of its names.
bool has_lm_head(const Checkpoint& checkpoint, const std::vector<ModuleSpec>& modules);

// Stored tensors that no module of the tree uses, without those that are known to be no parameters (rotary_emb.inv_freq, …).
std::vector<std::string> unused_tensors(const Checkpoint& checkpoint, const std::vector<ModuleSpec>& modules);

// The same for people, empty when there are none: layer numbers as `*`, and biases that config.json denies apart.
std::vector<std::string> unused_notes(const Checkpoint& checkpoint, const std::vector<ModuleSpec>& modules);

// Every parameter of the module tree must be stored with its shape and a dtype that can be loaded; throws one Error that lists
// what is missing or wrong. A missing lm_head is right when the embedding is tied.
void require_tensors(const Checkpoint& checkpoint, const std::vector<ModuleSpec>& modules, const ModelConfig& config);

// `--dtype auto`: config dtype, else the largest stored dtype.
DType resolve_dtype(const std::string& option, const ModelConfig& config, const Checkpoint& checkpoint);

// 64-bit FNV-1a over config, plan and tensor table: ranks compare it before they load (design.md).
uint64_t tensor_table_hash(const Checkpoint& checkpoint);

}  // namespace tp
