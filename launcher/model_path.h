#pragma once

#include <filesystem>
#include <string>

namespace tp {

// What --model names: a directory (or, for `plan`, a config.json), else org/name in the Hugging Face cache (HF_HUB_CACHE,
// HF_HOME or ~/.cache/huggingface), at its revision `main`. Throws Error: neither, or not downloaded (says where it looked).
std::filesystem::path resolve_model(const std::string& model, bool file_allowed);

// The directory of a kernel package: itself, or org/name in the Hugging Face cache, a kernel or a model there, at its revision
// `main` or the newest of v1, v2, …. Throws Error{where} for what is neither.
std::string resolve_kernels(const std::string& package, const std::string& where);

}  // namespace tp
