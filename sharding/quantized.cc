#include "sharding/quantized.h"

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <utility>

#include "sharding/error.h"
#include "sharding/report_groups.h"

namespace tp {
namespace {

constexpr size_t kMostProblems = 10;

// What the name of a tensor ends in when a method has written it.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kEndings = {{
    {".qweight", "GPTQ or AWQ"},
    {".qzeros", "GPTQ or AWQ"},
    {".g_idx", "GPTQ"},
    {".weight_packed", "compressed-tensors"},
    {".weight_scale", "compressed-tensors or FP8"},
    {".weight_scale_inv", "FP8"},
    {".weight.absmax", "bitsandbytes"},
    {".weight.quant_map", "bitsandbytes"},
    {".SCB", "bitsandbytes"},
    {"_blocks", "MXFP4"},
    {"_scales", "MXFP4"},
    {".scales", "AWQ, GPTQ or MLX"},
}};

// Says how activations are quantized, or what is known otherwise.
constexpr std::array<std::string_view, 5> kDropped = {".weight_shape", ".input_scale", ".input_zero_point", ".activation_scale",
                                                      ".input_global_scale"};

int64_t parts_of(int64_t size, int64_t part) {
  return (size + part - 1) / part;
}

class Gatherer {
 public:
  Gatherer(Checkpoint& checkpoint, const std::vector<StoredFormat>& formats) : checkpoint_(checkpoint), formats_(formats) {}

  void run() {
    std::map<std::string, StoredTensor> weights;
    for (const auto& [name, stored] : checkpoint_.tensors) {
      const std::string stem = stem_of(name, stored.entry.dtype);
      if (stem.empty()) continue;
      const StoredFormat* format = format_for(formats_, stem);
      if (format == nullptr) {
        problem(name, "is of no group of `quantization_config`");
        continue;
      }
      format_ = *format;
      auto tensor = std::make_shared<QuantizedTensor>();
      if (!gather(stem, name, stored, *tensor)) continue;
      StoredTensor weight{tensor->values.entry, stored.file};
      weight.entry.dtype = tensor->scales.entry.dtype == DType::kF16 ? DType::kF16 : DType::kBF16;
      weight.entry.shape = {tensor->out, tensor->in};
      weight.quantized = std::move(tensor);
      weights.emplace(stem + ".weight", std::move(weight));
    }
    if (!problems_.empty()) throw_all(problems_);
    for (const std::string& name : used_) checkpoint_.tensors.erase(name);
    for (auto& [name, weight] : weights) checkpoint_.tensors[name] = std::move(weight);
  }

 private:
  // "a" of the tensor that holds a's numbers; empty for any other.
  std::string stem_of(const std::string& name, DType dtype) const {
    using enum StoredFormat::Method;
    const auto before = [&](std::string_view ending) {
      return name.ends_with(ending) ? name.substr(0, name.size() - ending.size()) : "";
    };
    const StoredFormat::Method method = formats_[0].method;
    if (method == kGptq || method == kAwq) return before(".qweight");
    if (method == kCompressedTensors && name.ends_with(".weight_packed")) return before(".weight_packed");
    const bool numbers = dtype == DType::kF8E4M3 || (dtype == DType::kI8 && method == kCompressedTensors);
    return numbers ? before(".weight") : "";
  }

  void problem(const std::string& name, std::string what) {
    if (problems_.size() < kMostProblems)
      problems_.emplace_back(name, std::move(what),
                             "the checkpoint is damaged, or its `quantization_config` is of another one");
  }

  std::optional<StoredPart> take(const std::string& name) {
    const auto found = checkpoint_.tensors.find(name);
    if (found == checkpoint_.tensors.end()) return std::nullopt;
    used_.insert(name);
    return StoredPart{name, found->second.entry, found->second.file};
  }

  StoredPart need(const std::string& name) {
    std::optional<StoredPart> part = take(name);
    if (!part) problem(name, "is missing");
    return part.value_or(StoredPart{name, {}, 0});
  }

  bool fits(const StoredPart& part, const std::vector<std::vector<int64_t>>& shapes, std::initializer_list<DType> dtypes) {
    const TensorEntry& entry = part.entry;
    if (std::find(shapes.begin(), shapes.end(), entry.shape) == shapes.end()) {
      problem(part.name, "has shape " + shape_text(entry.shape) + ", `quantization_config` makes it " + shape_text(shapes[0]));
      return false;
    }
    if (std::find(dtypes.begin(), dtypes.end(), entry.dtype) != dtypes.end()) return true;
    problem(part.name, "has dtype " + std::string(safetensors_name(entry.dtype)) + ", not " +
                           std::string(safetensors_name(*dtypes.begin())));
    return false;
  }

  bool gather(const std::string& stem, const std::string& name, const StoredTensor& stored, QuantizedTensor& tensor) {
    const size_t before = problems_.size();
    tensor.values = {name, stored.entry, stored.file};
    used_.insert(name);
    for (std::string_view ending : kDropped) take(stem + std::string(ending));
    if (!take_size(tensor)) return false;
    tensor.group_in = format_.group_in < 0 ? tensor.in : format_.group_in;
    tensor.group_out = format_.group_out < 0 ? std::max<int64_t>(1, tensor.out) : format_.group_out;
    tensor.zero_offset = format_.zero_offset;
    tensor.symmetric = format_.symmetric;
    // Blocks may end with the weight, groups may not.
    if (tensor.group_out == 1 && tensor.in % tensor.group_in != 0) {
      problem(name, std::to_string(tensor.in) + " inputs are not whole groups of " + std::to_string(tensor.group_in));
      return false;
    }
    take_scales(stem, tensor);
    take_zeros(stem, tensor);
    return problems_.size() == before;
  }

  // Packing and size of the weight.
  bool take_size(QuantizedTensor& tensor) {
    const std::vector<int64_t>& shape = tensor.values.entry.shape;
    const DType dtype = tensor.values.entry.dtype;
    if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1) {
      problem(tensor.values.name, "has shape " + shape_text(shape) + ", which is no matrix");
      return false;
    }
    tensor.out = shape[0];
    tensor.in = shape[1];
    if (format_.method == StoredFormat::Method::kGptq) {
      tensor.packing = StoredPacking::kGptq;
      std::swap(tensor.out, tensor.in);
      tensor.in *= 8;
    } else if (format_.method == StoredFormat::Method::kAwq) {
      tensor.packing = StoredPacking::kAwq;
      std::swap(tensor.out, tensor.in);
      tensor.out *= 8;
    } else if (tensor.values.name.ends_with(".weight_packed")) {
      tensor.packing = format_.bits == 4 ? StoredPacking::kPackedInt4 : StoredPacking::kPackedInt8;
      tensor.in *= format_.bits == 4 ? 8 : 4;
    } else {
      tensor.packing = format_.is_float ? StoredPacking::kFloat8 : StoredPacking::kInt8;
      if (format_.bits != 8) problem(tensor.values.name, "has 8 bits, `quantization_config` says 4");
    }
    const DType wanted = tensor.packing == StoredPacking::kFloat8 ? DType::kF8E4M3
                         : tensor.packing == StoredPacking::kInt8 ? DType::kI8
                                                                  : DType::kI32;
    if (dtype == wanted) return true;
    problem(tensor.values.name,
            "has dtype " + std::string(safetensors_name(dtype)) + ", not " + std::string(safetensors_name(wanted)));
    return false;
  }

  void take_scales(const std::string& stem, QuantizedTensor& tensor) {
    const int64_t rows = parts_of(tensor.out, tensor.group_out), groups = tensor.groups();
    std::vector<std::vector<int64_t>> shapes = {{rows, groups}};
    std::string ending = ".weight_scale";
    if (tensor.scales_transposed()) {
      shapes = {{groups, tensor.out}};
      ending = ".scales";
    } else if (format_.method == StoredFormat::Method::kFp8 && format_.group_out > 1) {
      ending = ".weight_scale_inv";
    } else if (groups == 1) {
      shapes.push_back({rows});
      if (rows == 1) shapes.emplace_back();
    }
    tensor.scales = need(stem + ending);
    if (used_.contains(tensor.scales.name)) fits(tensor.scales, shapes, {DType::kF32, DType::kF16, DType::kBF16});
  }

  void take_zeros(const std::string& stem, QuantizedTensor& tensor) {
    if (tensor.scales_transposed()) {
      tensor.zeros = need(stem + ".qzeros");
      if (tensor.out % 8 != 0)
        return problem(tensor.values.name, std::to_string(tensor.out) + " outputs are not whole words of 8");
      if (used_.contains(tensor.zeros->name)) fits(*tensor.zeros, {{tensor.groups(), tensor.out / 8}}, {DType::kI32});
      tensor.group_index = take(stem + ".g_idx");
      if (tensor.group_index) fits(*tensor.group_index, {{tensor.in}}, {DType::kI32});
      return;
    }
    if (take(stem + ".weight_g_idx"))
      problem(stem + ".weight_g_idx", "groups in the order of activations (act-order) are not supported");
    if (format_.symmetric) {
      take(stem + ".weight_zero_point");
      return;
    }
    tensor.zeros = need(stem + ".weight_zero_point");
    if (!used_.contains(tensor.zeros->name)) return;
    const int64_t rows = parts_of(tensor.out, tensor.group_out);
    if (tensor.packing == StoredPacking::kPackedInt4) {
      fits(*tensor.zeros, {{parts_of(rows, 8), tensor.groups()}}, {DType::kI32});
    } else if (tensor.packing == StoredPacking::kInt8) {
      fits(*tensor.zeros, {{rows, tensor.groups()}, {rows}}, {DType::kI8});
    } else {
      problem(tensor.zeros->name, "zero points of this format are not supported");
    }
  }

  Checkpoint& checkpoint_;
  const std::vector<StoredFormat>& formats_;
  StoredFormat format_;  // of the weight at hand
  std::set<std::string> used_;
  std::vector<Error> problems_;
};

}  // namespace

void gather_quantized(Checkpoint& checkpoint, const std::vector<StoredFormat>& formats) {
  if (!formats.empty()) Gatherer(checkpoint, formats).run();
}

void refuse_quantized_tensors(const Checkpoint& checkpoint) {
  for (const auto& [name, stored] : checkpoint.tensors) {
    std::string method;
    for (const auto& [ending, written_by] : kEndings) {
      if (method.empty() && name.ends_with(ending)) method = written_by;
    }
    const DType dtype = stored.entry.dtype;
    if (method.empty() && (dtype == DType::kF8E4M3 || dtype == DType::kF8E5M2)) method = "FP8";
    if (method.empty()) continue;
    throw Error(checkpoint.dir.string(),
                "the checkpoint is quantized (" + method + ": tensor `" + name +
                    "`) in a way that its config.json does not describe, or that is not supported",
                "use the checkpoint in bfloat16, or one that docs/quantization.md has");
  }
}

}  // namespace tp
