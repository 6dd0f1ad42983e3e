#include "runtime/save_quantized.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/cpu/quantize.h"
#include "runtime/integer_weight.h"
#include "runtime/output_file.h"
#include "runtime/quantized_config.h"
#include "sharding/checkpoint.h"
#include "sharding/error.h"
#include "sharding/quantization.h"

namespace tp {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

// A tensor of the new checkpoint made from rows of one of the old one.
struct SavedWeight {
  std::string name;  // that it would have unquantized: what it is quantized to has the same beginning
  SavedMatrix matrix;
  WeightKind kind = WeightKind::kStored;

  std::string stem() const { return name.substr(0, name.size() - std::string_view(".weight").size()); }
  const TensorEntry& entry() const { return matrix.tensor->entry; }
};

// A tensor of the new files.
struct SavedPart {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
  int64_t size_bytes;
};

std::vector<SavedPart> parts_of(const SavedWeight& weight) {
  if (weight.kind == WeightKind::kStored)
    return {{weight.name, weight.entry().dtype, weight.entry().shape, weight.entry().size_bytes}};
  const int64_t out = weight.matrix.rows, in = weight.matrix.in;
  const cpu::WeightFormat format = packed_format(weight.kind);
  const int64_t scales = cpu::scales_per_row(format, in);
  const SavedPart scale{weight.stem() + ".weight_scale", DType::kBF16, {out, scales}, out * scales * 2};
  if (weight.kind == WeightKind::kInt8) return {{weight.stem() + ".weight", DType::kI8, {out, in}, out * in}, scale};
  return {{weight.stem() + ".weight_packed", DType::kI32, {out, in / 8}, out * in / 2},
          scale,
          {weight.stem() + ".weight_shape", DType::kI64, {2}, 16}};
}

std::string header_of(const std::vector<SavedWeight>& weights) {
  Json header = {{"__metadata__", {{"format", "pt"}}}};
  int64_t offset = 0;
  for (const SavedWeight& weight : weights) {
    for (const SavedPart& part : parts_of(weight)) {
      header[part.name] = {
          {"dtype", safetensors_name(part.dtype)}, {"shape", part.shape}, {"data_offsets", {offset, offset + part.size_bytes}}};
      offset += part.size_bytes;
    }
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string file(8, '\0');
  for (size_t i = 0; i < 8; ++i) file[i] = static_cast<char>(text.size() >> (8 * i));
  return file + text;
}

std::string_view bytes_of(const void* data, int64_t size) {
  return {static_cast<const char*>(data), static_cast<size_t>(size)};
}

// Writes the integers and scales of weights.
class WeightWriter {
 public:
  WeightWriter(const std::vector<MappedFile>& files, cpu::ThreadPool& pool, OutputFile& file)
      : files_(files), pool_(pool), file_(file) {}

  void write(const SavedWeight& weight) {
    const TensorEntry& entry = weight.entry();
    const MappedFile& source = files_[static_cast<size_t>(weight.matrix.tensor->file)];
    if (weight.kind == WeightKind::kStored) {
      file_.write(bytes_of(source.data() + entry.offset, entry.size_bytes));
    } else {
      quantize(weight);
    }
    source.release(entry.offset, entry.size_bytes);
  }

 private:
  void quantize(const SavedWeight& weight) {
    const cpu::WeightFormat format = packed_format(weight.kind);
    const auto& [name, stored, row_begin, out, in] = weight.matrix;
    IntegerRows rows{.row_bytes = cpu::quantized_row_bytes(format, in), .scale_stride = cpu::scales_per_row(format, in)};
    std::vector<std::byte> q(static_cast<size_t>(out * rows.row_bytes));
    std::vector<uint16_t> scales(static_cast<size_t>(out * rows.scale_stride));
    rows.q = q.data();
    rows.scales = reinterpret_cast<std::byte*>(scales.data());
    const StoredBlock block{.tensor = stored, .offset = row_begin * in, .stride = in, .rows = out, .columns = in};
    if (!quantize_block(block, weight.kind, rows, files_, pool_))
      throw Error(weight.name, "a weight is not a finite number and cannot be quantized", "use a sound checkpoint");
    file_.write(bytes_of(q.data(), static_cast<int64_t>(q.size())));
    file_.write(bytes_of(scales.data(), static_cast<int64_t>(scales.size() * sizeof(uint16_t))));
    if (format == cpu::WeightFormat::kInt8) return;
    const std::array<int64_t, 2> shape = {out, in};
    file_.write(bytes_of(shape.data(), sizeof(shape)));
  }

  const std::vector<MappedFile>& files_;
  cpu::ThreadPool& pool_;
  OutputFile& file_;
};

// Every tensor of the new checkpoint, in the order of their names.
std::vector<SavedWeight> saved_weights(const RankModel& model, const Checkpoint& checkpoint) {
  std::map<const StoredTensor*, std::string> names;
  for (const auto& [name, stored] : checkpoint.tensors) names[&stored] = name;
  std::map<std::string, SavedWeight> weights;
  std::set<const StoredTensor*> quantized;
  const auto add = [&](const std::string& name, const SavedMatrix& matrix, WeightKind kind) {
    weights[name] = {name, matrix, kind};
  };
  for (const PlannedModule& planned : model.plan.modules) {
    const ModuleSpec& module = planned.module;
    if (planned.kind == WeightKind::kStored) continue;
    for (const SavedMatrix& matrix : saved_matrices(checkpoint, module)) {
      quantized.insert(matrix.tensor);
      add(matrix.name.empty() ? names.at(matrix.tensor) : matrix.name, matrix, planned.kind);
    }
    // A tied head gets a tensor of its own.
    const StoredTensor* embedding = module.role == Role::kLmHead && weight_sources(checkpoint, module).empty()
                                        ? find_weight(checkpoint, model.plan.modules.front().module)
                                        : nullptr;
    if (embedding != nullptr)
      add(module.weight_name(), {"", embedding, 0, module.weight_shape[0], module.weight_shape[1]}, planned.kind);
  }
  for (const auto& [name, stored] : checkpoint.tensors)
    if (!quantized.contains(&stored)) add(name, {"", &stored}, WeightKind::kStored);
  std::vector<SavedWeight> list;
  for (auto& [name, weight] : weights) list.push_back(std::move(weight));
  return list;
}

// Deals the weights out so that each rank has about as many bytes.
std::vector<std::vector<SavedWeight>> shares_of(const std::vector<SavedWeight>& weights, int ranks) {
  std::vector<std::vector<SavedWeight>> shares(static_cast<size_t>(ranks));
  std::vector<int64_t> load(shares.size(), 0);
  for (const SavedWeight& weight : weights) {
    const auto least = static_cast<size_t>(std::min_element(load.begin(), load.end()) - load.begin());
    for (const SavedPart& part : parts_of(weight)) load[least] += part.size_bytes;
    shares[least].push_back(weight);
  }
  return shares;
}

std::string file_name(size_t rank, size_t ranks) {
  char name[64];
  std::snprintf(name, sizeof(name), "model-%05zu-of-%05zu.safetensors", rank + 1, ranks);
  return name;
}

std::string index_of(const std::vector<std::vector<SavedWeight>>& shares) {
  Json map = Json::object();
  int64_t total = 0;
  for (size_t rank = 0; rank < shares.size(); ++rank) {
    for (const SavedWeight& weight : shares[rank]) {
      for (const SavedPart& part : parts_of(weight)) {
        map[part.name] = file_name(rank, shares.size());
        total += part.size_bytes;
      }
    }
  }
  return Json{{"metadata", {{"total_size", total}}}, {"weight_map", std::move(map)}}.dump(1) + "\n";
}

// Tokenizer, chat template and settings.
void copy_small_files(const fs::path& from, const fs::path& to) {
  for (const auto& entry : fs::directory_iterator(from)) {
    const fs::path name = entry.path().filename();
    const std::string kind = name.extension().string();
    const bool small = kind == ".json" || kind == ".jinja" || kind == ".model" || kind == ".txt" || kind == ".tiktoken";
    if (!small || name == "config.json" || name == "model.safetensors.index.json" || !fs::is_regular_file(entry.path()))
      continue;
    fs::copy_file(entry.path(), to / name, fs::copy_options::overwrite_existing);
  }
}

void write_text(const fs::path& path, const std::string& text) {
  OutputFile(path.string()).write(text);
}

}  // namespace

void save_quantized(const RankModel& model, const std::string& model_dir, const std::string& target, int threads,
                    Communicator& communicator) {
  const Checkpoint checkpoint = open_checkpoint(model_dir);
  const auto shares = shares_of(saved_weights(model, checkpoint), communicator.world_size());
  const auto rank = static_cast<size_t>(communicator.rank());
  std::error_code code;
  fs::create_directories(target, code);
  if (code) throw Error("--save-quantized", target + " cannot be made: " + code.message());
  std::vector<MappedFile> files;
  for (const auto& path : checkpoint.files) files.emplace_back(path);
  cpu::ThreadPool pool(threads);
  OutputFile file((fs::path(target) / file_name(rank, shares.size())).string());
  file.write(header_of(shares[rank]));
  WeightWriter writer(files, pool, file);
  for (const SavedWeight& weight : shares[rank]) writer.write(weight);
  communicator.barrier();
  if (rank != 0) return;
  try {
    copy_small_files(model_dir, target);
  } catch (const fs::filesystem_error& error) {
    throw Error("--save-quantized", error.what());
  }
  write_text(fs::path(target) / "model.safetensors.index.json", index_of(shares));
  write_text(fs::path(target) / "config.json", quantized_config(model.plan, model_dir));
}

}  // namespace tp
