#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sharding/dtype.h"

namespace tp {

struct TensorEntry {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  int64_t offset = 0;  // of the first byte, from the start of the file
  int64_t size_bytes = 0;
};

// Parses and validates the header of a safetensors file as hostile input: 8-byte little-endian length, then JSON, at most
// 100 MB. Checked: lengths, offsets (in order, no overlap, no hole, within the file), dtype, shape product against size
// without overflow, duplicate keys, nesting. `head` is the file's beginning, at least the whole header when the file has it;
// `file_size` the real size. Throws Error{where = path}.
std::map<std::string, TensorEntry> parse_safetensors_header(std::string_view head, int64_t file_size, const std::string& path);

// Reads just the header of a file. Throws Error: missing, unreadable, a Git-LFS pointer, truncated, …
std::map<std::string, TensorEntry> read_safetensors_header(const std::filesystem::path& path);

}  // namespace tp
