#include "sharding/stored_format.h"

#include <filesystem>

#include "sharding/error.h"

namespace tp {
namespace {

constexpr int64_t kMaxConfigBytes = int64_t{16} << 20;

class FormatReader {
 public:
  FormatReader(const Json& values, std::string path) : values_(values), path_(std::move(path)) {}

  std::vector<StoredFormat> read() {
    if (!values_.is_object()) refuse("`quantization_config` is not an object");
    const std::string method = text(values_, "quant_method", "");
    if (method == "compressed-tensors") return compressed_tensors();
    if (method == "fp8") return {fp8()};
    if (method == "gptq") return {gptq()};
    if (method == "awq") return {awq()};
    refuse("the checkpoint is quantized (`quantization_config`: " + (method.empty() ? "unknown method" : method) +
           "), which is not supported");
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(
        path_, what,
        "use the checkpoint in bfloat16, or one of compressed-tensors, fp8, gptq or awq as docs/quantization.md has them");
  }
  static const Json& at(const Json& object, const char* key) {
    static const Json none;
    return object.is_object() && object.contains(key) ? object.at(key) : none;
  }
  std::string text(const Json& object, const char* key, const std::string& otherwise) const {
    const Json& value = at(object, key);
    if (value.is_null()) return otherwise;
    if (!value.is_string()) refuse_value(key, value);
    return value.get<std::string>();
  }
  int64_t number(const Json& object, const char* key, int64_t otherwise) const {
    const Json& value = at(object, key);
    if (value.is_null()) return otherwise;
    if (!value.is_number_integer()) refuse_value(key, value);
    return value.get<int64_t>();
  }
  bool boolean(const Json& object, const char* key, bool otherwise) const {
    const Json& value = at(object, key);
    if (value.is_null()) return otherwise;
    if (!value.is_boolean()) refuse_value(key, value);
    return value.get<bool>();
  }
  [[noreturn]] void refuse_value(const std::string& key, const Json& value) const {
    std::string shown = value.dump();
    if (shown.size() > 100) shown = shown.substr(0, 100) + "…";
    refuse("`quantization_config`: `" + key + "` is " + shown + ", which is not supported");
  }
  int64_t group(const Json& object, const char* key, int64_t otherwise) const {
    const int64_t size = number(object, key, otherwise);
    if (size != -1 && (size < 1 || size > (int64_t{1} << 20))) refuse_value(key, at(object, key));
    return size;
  }

  std::vector<StoredFormat> compressed_tensors() {
    const Json& groups = at(values_, "config_groups");
    if (!groups.is_object() || groups.empty()) refuse("`quantization_config` has no `config_groups`");
    std::vector<StoredFormat> formats;
    for (const auto& [name, group] : groups.items()) {
      if (at(group, "weights").is_null()) continue;
      formats.push_back(compressed_group(at(group, "weights")));
      formats.back().targets = targets(at(group, "targets"));
    }
    return formats;
  }

  StoredFormat compressed_group(const Json& weights) {
    StoredFormat format{StoredFormat::Method::kCompressedTensors};
    format.bits = static_cast<int>(number(weights, "num_bits", 8));
    const std::string type = text(weights, "type", "int");
    format.is_float = type == "float";
    if (type != "int" && type != "float") refuse_value("type", at(weights, "type"));
    if (format.bits != 8 && (format.bits != 4 || format.is_float)) refuse_value("num_bits", at(weights, "num_bits"));
    format.symmetric = boolean(weights, "symmetric", true);
    const Json& order = at(weights, "actorder");
    if (!order.is_null() && order != "weight" && order != "static" && order != false) refuse_value("actorder", order);
    strategy(weights, format);
    return format;
  }

  // "Linear" is every module; names and "re:.*name" are ends of names. Other expressions are refused.
  std::vector<std::string> targets(const Json& list) {
    std::vector<std::string> ends;
    if (!list.is_array()) refuse_value("targets", list);
    for (const Json& target : list) {
      if (!target.is_string()) refuse_value("targets", list);
      std::string name = target.get<std::string>();
      if (name == "Linear") return {};
      if (name.starts_with("re:")) {
        name = name.substr(name.starts_with("re:.*") ? 5 : 3);
        if (name.ends_with('$')) name.pop_back();
        for (size_t i = 0; i + 1 < name.size(); ++i)
          if (name[i] == '\\' && name[i + 1] == '.') name.erase(i, 1);
      }
      if (name.empty() || name.find_first_of("\\^$|?*+()[]{}") != std::string::npos) refuse_value("targets", target);
      ends.push_back(name);
    }
    if (ends.empty()) refuse_value("targets", list);
    return ends;
  }

  void strategy(const Json& weights, StoredFormat& format) {
    const std::string strategy = text(weights, "strategy", at(weights, "group_size").is_null() ? "tensor" : "group");
    if (strategy == "group") {
      format.group_in = group(weights, "group_size", -1);
    } else if (strategy == "tensor") {
      format.group_out = -1;
    } else if (strategy == "block") {
      blocks(at(weights, "block_structure"), "block_structure", format);
    } else if (strategy != "channel") {
      refuse_value("strategy", at(weights, "strategy"));
    }
  }

  void blocks(const Json& sizes, const char* key, StoredFormat& format) {
    const bool right = sizes.is_array() && sizes.size() == 2 && sizes[0].is_number_integer() && sizes[1].is_number_integer();
    if (!right || sizes[0] < 1 || sizes[1] < 1 || sizes[0] > 65536 || sizes[1] > 65536) refuse_value(key, sizes);
    format.group_out = sizes[0].get<int64_t>();
    format.group_in = sizes[1].get<int64_t>();
  }

  StoredFormat fp8() {
    StoredFormat format{StoredFormat::Method::kFp8};
    format.is_float = true;
    if (text(values_, "fmt", "e4m3") != "e4m3") refuse_value("fmt", at(values_, "fmt"));
    if (at(values_, "weight_block_size").is_null()) {
      format.group_out = -1;
    } else {
      blocks(at(values_, "weight_block_size"), "weight_block_size", format);
    }
    return format;
  }

  void four_bits(StoredFormat& format, const char* key) {
    format.bits = 4;
    if (number(values_, key, 4) != 4) refuse_value(key, at(values_, key));
    format.symmetric = boolean(values_, "sym", false);  // GPTQ; zero points are stored all the same
  }

  StoredFormat gptq() {
    StoredFormat format{StoredFormat::Method::kGptq};
    four_bits(format, "bits");
    format.group_in = group(values_, "group_size", 128);
    if (boolean(values_, "desc_act", false)) refuse("`quantization_config`: `desc_act` (act-order) is not supported");
    const std::string layout = text(values_, "checkpoint_format", "gptq");
    if (layout != "gptq" && layout != "gptq_v2") refuse_value("checkpoint_format", at(values_, "checkpoint_format"));
    format.zero_offset = layout == "gptq" ? 1 : 0;
    return format;
  }

  StoredFormat awq() {
    StoredFormat format{StoredFormat::Method::kAwq};
    four_bits(format, values_.contains("w_bit") ? "w_bit" : "bits");
    format.group_in = group(values_, values_.contains("q_group_size") ? "q_group_size" : "group_size", 128);
    std::string version = text(values_, "version", "gemm");
    if (version != "gemm" && version != "GEMM") refuse_value("version", at(values_, "version"));
    return format;
  }

  const Json& values_;
  std::string path_;
};

}  // namespace

std::vector<StoredFormat> parse_stored_formats(const Json& quantization, const std::string& path) {
  return FormatReader(quantization, path).read();
}

std::vector<StoredFormat> stored_formats_of(const std::string& config_path) {
  std::error_code code;
  if (!std::filesystem::exists(config_path, code)) return {};
  const Json config = parse_json(read_text_file(config_path, kMaxConfigBytes), config_path);
  for (const char* key : {"quantization_config", "compression_config"})
    if (config.is_object() && config.contains(key) && !config.at(key).is_null())
      return parse_stored_formats(config.at(key), config_path);
  return {};
}

const StoredFormat* format_for(const std::vector<StoredFormat>& formats, std::string_view module) {
  const StoredFormat* rest = nullptr;
  for (const StoredFormat& format : formats) {
    if (format.targets.empty()) rest = &format;
    for (const std::string& end : format.targets)
      if (module.ends_with(end)) return &format;
  }
  return rest;
}

}  // namespace tp
