#include "sharding/checkpoint.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "sharding/error.h"
#include "sharding/expert_name.h"
#include "sharding/json_document.h"
#include "sharding/quantized.h"

namespace tp {
namespace {

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr int64_t kMaxIndexBytes = int64_t{64} << 20;  // half a million tensors

std::string lines(const std::vector<std::string>& items, size_t limit) {
  std::string text;
  for (size_t i = 0; i < items.size() && i < limit; ++i) text += "\n  " + items[i];
  if (items.size() > limit) text += "\n  and " + std::to_string(items.size() - limit) + " more";
  return text;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

// Why a directory has no weights that can be read, with what to do about it.
[[noreturn]] void refuse_empty(const std::filesystem::path& dir) {
  std::error_code code;
  if (!std::filesystem::is_directory(dir, code))
    throw Error(dir.string(), "no such directory", "name a model's directory, or org/name of one that was downloaded");
  std::string found;
  for (const auto& entry : std::filesystem::directory_iterator(dir, code)) {
    const std::string name = entry.path().filename().string();
    const std::string kind = entry.path().extension().string();
    if (kind == ".bin" || kind == ".pt" || kind == ".pth" || kind == ".gguf" || kind == ".safetensors") {
      if (found.empty() || name < found) found = name;
    }
  }
  const bool shards = found.size() > 12 && found.ends_with(".safetensors");
  const std::string fix = found.empty() ? "the model's download is not complete"
                          : shards      ? "the index is missing beside `" + found + "`: get it again"
                                        : "`" + found + "` is a format that is not supported: convert the model to safetensors";
  throw Error(dir.string(), std::string("no ") + kSingle + " and no " + kIndex, fix);
}

void add_file(Checkpoint& checkpoint, const std::filesystem::path& path, const std::map<std::string, std::string>& index) {
  const int file = static_cast<int>(checkpoint.files.size());
  checkpoint.files.push_back(path);
  const std::string name = path.filename().string();
  for (auto& [tensor, entry] : read_safetensors_header(path)) {
    // What the headers say is what there is; the index only chooses between files that have a tensor twice.
    const auto chosen = index.find(tensor);
    const bool elsewhere = chosen != index.end() && chosen->second != name;
    if (elsewhere && checkpoint.tensors.contains(tensor)) continue;
    checkpoint.tensors[tensor] = StoredTensor{entry, file};
  }
}

void hash_bytes(uint64_t& hash, std::string_view bytes) {
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3ULL;
}

bool loadable(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kBF16 || dtype == DType::kF16;
}

// What is wrong with a tensor that should have `shape`, or "".
std::string fault(const std::string& name, const StoredTensor* stored, const std::vector<int64_t>& shape) {
  if (!stored) return "`" + name + "` is missing";
  if (stored->entry.shape != shape) {
    return "`" + name + "` has shape " + shape_text(stored->entry.shape) + ", config.json makes it " + shape_text(shape);
  }
  if (loadable(stored->entry.dtype)) return "";
  return "`" + name + "` has dtype " + std::string(safetensors_name(stored->entry.dtype)) + ", not F32, BF16 or F16";
}

// "model.layers.3.mlp.up_proj.bias" -> "model.layers.*.mlp.up_proj.bias"
std::string without_numbers(const std::string& name) {
  std::string text;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    const bool number = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    text += (begin == 0 ? "" : ".") + (number ? "*" : part);
    begin = end + 1;
  }
  return text;
}

// " a, b (3 of them), and 4 more names"
std::string counted(const std::map<std::string, int>& names) {
  constexpr size_t kShown = 8;
  std::string text;
  size_t shown = 0;
  for (const auto& [name, count] : names) {
    if (shown++ == kShown) return text + ", and " + std::to_string(names.size() - kShown) + " more names";
    text += (shown == 1 ? " " : ", ") + name + (count == 1 ? "" : " (" + std::to_string(count) + " of them)");
  }
  return text;
}

// The shape of the tensor that a module's weight is, or is a part of.
std::vector<int64_t> stored_shape(const Checkpoint& checkpoint, const ModuleSpec& module) {
  std::vector<int64_t> shape = module.weight_shape;
  if (module.stored_rows > 0 && !checkpoint.find(module.weight_name())) shape[0] = module.stored_rows;
  return shape;
}

// Experts that are stored apart: each part has its share of the out dimension.
void check_experts(const Checkpoint& checkpoint, const ModuleSpec& module, std::vector<std::string>& faults) {
  const auto parts = static_cast<int64_t>(module.per_expert.size());
  const std::vector<int64_t> shape = {module.weight_shape[1] / parts, module.weight_shape[2]};
  for (int64_t expert = 0; expert < module.weight_shape[0]; ++expert) {
    for (const std::string& pattern : module.per_expert) {
      const std::string name = expert_name(pattern, expert);
      const std::string one = fault(name, checkpoint.find(name), shape);
      if (!one.empty()) faults.push_back(one);
    }
  }
}

Checkpoint read_headers(const std::filesystem::path& dir) {
  std::error_code code;
  Checkpoint checkpoint;
  checkpoint.dir = dir;
  // transformers' order: a single file first, whatever index lies beside it.
  const auto present = [&](const char* name) {
    return std::filesystem::exists(dir / name, code) || std::filesystem::is_symlink(dir / name, code);
  };
  if (present(kSingle)) {
    add_file(checkpoint, dir / kSingle, {});
    return checkpoint;
  }
  if (!present(kIndex)) refuse_empty(dir);
  const std::map<std::string, std::string> index =
      parse_safetensors_index(read_text_file(dir / kIndex, kMaxIndexBytes), (dir / kIndex).string());
  std::set<std::string> names;
  for (const auto& [tensor, file] : index) names.insert(file);
  std::vector<std::string> missing;
  for (const std::string& name : names) {
    if (!std::filesystem::exists(dir / name, code)) missing.push_back(name);
  }
  if (!missing.empty()) {
    throw Error((dir / kIndex).string(),
                "names " + std::to_string(missing.size()) + " of " + std::to_string(names.size()) +
                    " files that do not exist:" + lines(missing, 20),
                "the model's download is not complete: get these files");
  }
  for (const std::string& name : names) add_file(checkpoint, dir / name, index);
  return checkpoint;
}

}  // namespace

const StoredTensor* Checkpoint::find(const std::string& name) const {
  const auto at = [&](const std::string& wanted) -> const StoredTensor* {
    const auto found = tensors.find(wanted);
    return found == tensors.end() ? nullptr : &found->second;
  };
  if (const StoredTensor* stored = at(name)) return stored;
  // transformers' name of the base model, or none.
  const std::string base = name.starts_with("model.") ? name.substr(6) : name;
  for (const char* prefix : {"", "model.", "gpt_neox.", "transformer."}) {
    if (const StoredTensor* stored = at(prefix + base)) return stored;
  }
  return nullptr;
}

std::map<std::string, std::string> parse_safetensors_index(std::string_view text, const std::string& path) {
  const Json index = parse_json(text, path);
  if (!index.is_object() || !index.contains("weight_map") || !index.at("weight_map").is_object()) {
    throw Error(path, "has no `weight_map`", "get the file again");
  }
  std::map<std::string, std::string> files;
  for (const auto& [tensor, file] : index.at("weight_map").items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    const bool plain = !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
                       name.find('\0') == std::string::npos;
    if (!plain)
      throw Error(path, "`weight_map` gives `" + tensor + "` no plain file name: " + file.dump(), "get the file again");
    files[tensor] = name;
  }
  if (files.empty()) throw Error(path, "`weight_map` is empty", "get the file again");
  return files;
}

Checkpoint open_checkpoint(const std::filesystem::path& dir) {
  Checkpoint checkpoint = read_headers(dir);
  gather_quantized(checkpoint, stored_formats_of((dir / "config.json").string()));
  return checkpoint;
}

std::vector<WeightSource> weight_sources(const Checkpoint& checkpoint, const ModuleSpec& module) {
  if (const StoredTensor* stored = find_weight(checkpoint, module)) {
    return {{stored, -1, stored == checkpoint.find(module.weight_name()) ? 0 : -module.stored_row}};
  }
  std::vector<WeightSource> sources;
  for (int64_t expert = 0; !module.per_expert.empty() && expert < module.weight_shape[0]; ++expert) {
    int64_t row = 0;
    for (const std::string& pattern : module.per_expert) {
      const StoredTensor* stored = checkpoint.find(expert_name(pattern, expert));
      if (!stored || stored->entry.shape.empty()) return {};
      sources.push_back({stored, expert, row});
      row += stored->entry.shape[0];
    }
  }
  return sources;
}

const StoredTensor* find_weight(const Checkpoint& checkpoint, const ModuleSpec& module) {
  const StoredTensor* stored = checkpoint.find(module.weight_name());
  return stored || module.stored_name.empty() ? stored : checkpoint.find(module.stored_name);
}

const StoredTensor* find_bias(const Checkpoint& checkpoint, const ModuleSpec& module) {
  const StoredTensor* stored = checkpoint.find(module.bias_name());
  return stored || module.stored_bias.empty() ? stored : checkpoint.find(module.stored_bias);
}

bool has_lm_head(const Checkpoint& checkpoint, const std::vector<ModuleSpec>& modules) {
  for (const ModuleSpec& module : modules) {
    if (module.role == Role::kLmHead) return !weight_sources(checkpoint, module).empty();
  }
  return false;
}

std::vector<std::string> unused_tensors(const Checkpoint& checkpoint, const std::vector<ModuleSpec>& modules) {
  std::set<const StoredTensor*> used;
  for (const ModuleSpec& module : modules) {
    if (module.has_weight) {
      for (const WeightSource& source : weight_sources(checkpoint, module)) used.insert(source.tensor);
    }
    if (module.has_bias) used.insert(find_bias(checkpoint, module));
  }
  // Buffers that older releases saved and that are computed here.
  constexpr std::array<std::string_view, 8> kBuffers = {".rotary_emb.inv_freq", ".attention.bias", ".attention.masked_bias",
                                                        ".attn.masked_bias",    ".attn.bias",      ".attn.causal_mask",
                                                        ".mlp.act_fn.beta",     ".mlp.act_fn.eps"};
  std::vector<std::string> unused;
  for (const auto& [name, stored] : checkpoint.tensors) {
    bool buffer = false;
    for (const std::string_view ending : kBuffers) buffer = buffer || name.ends_with(ending);
    if (!buffer && !used.contains(&stored)) unused.push_back(name);
  }
  return unused;
}

std::vector<std::string> unused_notes(const Checkpoint& checkpoint, const std::vector<ModuleSpec>& modules) {
  std::set<const StoredTensor*> denied;
  for (const ModuleSpec& module : modules) {
    if (!module.has_bias && !module.bare) denied.insert(find_bias(checkpoint, module));
  }
  std::map<std::string, int> biases, others;
  for (const std::string& name : unused_tensors(checkpoint, modules)) {
    ++(denied.contains(&checkpoint.tensors.at(name)) ? biases : others)[without_numbers(name)];
  }
  std::vector<std::string> notes;
  if (!biases.empty()) notes.push_back("stored biases are not used, config.json says there are none:" + counted(biases));
  if (!others.empty()) notes.push_back("stored tensors that this model does not use:" + counted(others));
  return notes;
}

void require_tensors(const Checkpoint& checkpoint, const std::vector<ModuleSpec>& modules, const ModelConfig& config) {
  refuse_quantized_tensors(checkpoint);
  std::vector<std::string> faults;
  const auto note = [&](const std::string& one) {
    if (!one.empty()) faults.push_back(one);
  };
  for (const ModuleSpec& module : modules) {
    const StoredTensor* weight = find_weight(checkpoint, module);
    const bool shared = module.role == Role::kLmHead && config.tie_word_embeddings && !weight;
    if (module.may_be_missing && !weight) continue;
    if (module.has_weight && !weight && !module.per_expert.empty()) {
      check_experts(checkpoint, module, faults);
    } else if (module.has_weight && !shared) {
      note(fault(module.weight_name(), weight, stored_shape(checkpoint, module)));
    }
    if (module.has_bias) note(fault(module.bias_name(), find_bias(checkpoint, module), {module.weight_shape[0]}));
  }
  if (faults.empty()) return;
  const std::string count = faults.size() == 1 ? "1 tensor does" : std::to_string(faults.size()) + " tensors do";
  throw Error(checkpoint.dir.string(), count + " not fit config.json:" + lines(faults, 10),
              "config.json and the weights must be of the same model");
}

DType resolve_dtype(const std::string& option, const ModelConfig& config, const Checkpoint& checkpoint) {
  if (option != "auto") {
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
      if (option == torch_name(dtype)) return dtype;
    }
    throw Error("--dtype", "unknown dtype `" + option + "`", "use auto, float32, bfloat16 or float16");
  }
  if (config.dtype) {
    if (loadable(*config.dtype)) return *config.dtype;
    throw Error(config.path, "`dtype` is " + std::string(torch_name(*config.dtype)) + ", in which a model cannot run",
                "say --dtype float32, bfloat16 or float16");
  }
  DType largest = DType::kF16;
  for (const auto& [name, stored] : checkpoint.tensors) {
    const DType dtype = stored.entry.dtype;
    if (dtype == DType::kF32) return dtype;
    if (dtype == DType::kBF16) largest = dtype;
  }
  return largest;
}

uint64_t tensor_table_hash(const Checkpoint& checkpoint) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const auto& [name, stored] : checkpoint.tensors) {
    const std::string file = checkpoint.files[static_cast<size_t>(stored.file)].filename().string();
    hash_bytes(hash, name + "\n" + std::string(safetensors_name(stored.entry.dtype)) + shape_text(stored.entry.shape) + "\n" +
                         file + "\n" + std::to_string(stored.entry.offset) + "\n");
    if (stored.quantized)
      hash_bytes(hash, std::to_string(stored.quantized->group_in) + " " + std::to_string(stored.quantized->zero_offset));
  }
  return hash;
}

}  // namespace tp
