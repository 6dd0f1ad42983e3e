#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sharding/json_document.h"

namespace tp {

// What `quantization_config` of a config.json says about the stored weights.
struct StoredFormat {
  enum class Method { kCompressedTensors, kFp8, kGptq, kAwq };
  Method method = Method::kCompressedTensors;
  int bits = 8;
  bool is_float = false;  // float8_e4m3
  bool symmetric = true;  // no zero points are stored
  int64_t group_in = -1;  // inputs of a group; -1 = all
  int64_t group_out = 1;  // outputs of a group; -1 = all
  int zero_offset = 0;    // GPTQ's first format stores zero points less one
  // Modules that it is for: the end of a dotted name; empty = all that are stored quantized and that no other one names.
  std::vector<std::string> targets;
};

// Sources: compressed-tensors 0.12 (QuantizationArgs, the compressors' packing), transformers 5.24 (FineGrainedFP8Config,
// GPTQConfig, AwqConfig), GPTQModel's two checkpoint formats, AutoAWQ's "gemm". One of compressed-tensors may have several, all
// of its method. Throws Error{where = path} for a method or an option that is not supported, by its name.
std::vector<StoredFormat> parse_stored_formats(const Json& quantization, const std::string& path);

// The same for a model directory's config.json; empty where it has no such key, or where there is no such file.
std::vector<StoredFormat> stored_formats_of(const std::string& config_path);

// The one that says how a module ("model.layers.0.mlp.up_proj") is stored; nullptr when none does.
const StoredFormat* format_for(const std::vector<StoredFormat>& formats, std::string_view module);

}  // namespace tp
