#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "sharding/parameters.h"
#include "sharding/safetensors.h"

namespace tp {

struct StoredTensor {
  TensorEntry entry;
  int file = 0;  // index into Checkpoint::files
};

// The weights of a model directory, by name; nothing but headers has been read.
struct Checkpoint {
  std::filesystem::path dir;
  std::vector<std::filesystem::path> files;
  std::map<std::string, StoredTensor> tensors;

  // The tensor under `name`, with or without the leading "model." as the file has it; nullptr when there is none.
  const StoredTensor* find(const std::string& name) const;
};

// model.safetensors, or the files that model.safetensors.index.json names. Throws Error for missing files (all listed), a bad
// index, bad headers.
Checkpoint open_checkpoint(const std::filesystem::path& dir);

// Every parameter of the module tree must be stored with its shape and a dtype that can be loaded; throws one Error that lists
// what is missing or wrong. A missing lm_head is right when the embedding is tied.
void require_tensors(const Checkpoint& checkpoint, const std::vector<ModuleSpec>& modules, const ModelConfig& config);

// `--dtype auto`: config dtype, else the largest stored dtype.
DType resolve_dtype(const std::string& option, const ModelConfig& config, const Checkpoint& checkpoint);

// 64-bit FNV-1a over config, plan and tensor table: ranks compare it before they load (design.md).
uint64_t tensor_table_hash(const Checkpoint& checkpoint);

}  // namespace tp
