#include "launcher/generation_settings.h"

#include <cmath>
#include <optional>
#include <set>

#include "launcher/option_table.h"
#include "sharding/error.h"
#include "sharding/json_document.h"

namespace tp {
namespace fs = std::filesystem;
namespace {

struct Source {
  std::string name;
  Json json;
};

// Keys of generation_config.json that say nothing about which token comes next.
bool is_harmless(const std::string& key, const Json& value) {
  static const std::set<std::string> harmless = {"bos_token_id",
                                                 "pad_token_id",
                                                 "transformers_version",
                                                 "use_cache",
                                                 "output_attentions",
                                                 "output_hidden_states",
                                                 "output_scores",
                                                 "output_logits",
                                                 "return_dict_in_generate",
                                                 "cache_implementation",
                                                 "cache_config",
                                                 "num_return_sequences",
                                                 "max_new_tokens",
                                                 "max_length",
                                                 "do_sample",
                                                 "temperature",
                                                 "top_k",
                                                 "top_p",
                                                 "min_p",
                                                 "repetition_penalty",
                                                 "eos_token_id",
                                                 "trust_remote_code",
                                                 "num_assistant_tokens",
                                                 "prefill_chunk_size",
                                                 "early_stopping",
                                                 "length_penalty",
                                                 "num_beam_groups",
                                                 "diversity_penalty",
                                                 "is_assistant",
                                                 "_from_model_config",
                                                 "max_matching_ngram_size",
                                                 "assistant_confidence_threshold",
                                                 "num_assistant_tokens_schedule",
                                                 "target_lookbehind",
                                                 "assistant_lookbehind",
                                                 "compile_config",
                                                 "disable_compile",
                                                 "low_memory",
                                                 "max_time",
                                                 "token_healing",
                                                 "decoder_start_token_id",
                                                 "chat_format",
                                                 "max_window_size"};
  static const std::map<std::string, double> neutral = {{"num_beams", 1},
                                                        {"typical_p", 1},
                                                        {"epsilon_cutoff", 0},
                                                        {"eta_cutoff", 0},
                                                        {"no_repeat_ngram_size", 0},
                                                        {"encoder_repetition_penalty", 1},
                                                        {"encoder_no_repeat_ngram_size", 0},
                                                        {"min_length", 0},
                                                        {"guidance_scale", 1}};
  if (value.is_null() || value == false || harmless.contains(key) || key.starts_with("_")) return true;
  const auto off = neutral.find(key);
  return off != neutral.end() && value.is_number() && value.get<double>() == off->second;
}

class SettingReader {
 public:
  SettingReader(const Options& options, std::vector<Source> files, GenerationSettings& settings)
      : options_(options), files_(std::move(files)), settings_(settings) {}

  bool flag(const char* option, const char* key, bool otherwise) {
    if (options_.given(option)) return show(key, options_.flag(option), "--" + std::string(option));
    for (const Source& file : files_) {
      if (const Json* value = find(file, key)) {
        if (!value->is_boolean()) fail(file, key, *value, "is not true or false");
        return show(key, value->get<bool>(), file.name);
      }
    }
    return show(key, otherwise, "default");
  }

  double number(const char* option, const char* key, double otherwise, bool (*allowed)(double), const char* range) {
    double result = otherwise;
    std::string source = "default";
    if (options_.given(option)) {
      result = option_row(option).type == OptionType::kCount ? static_cast<double>(*options_.count(option))
                                                             : *options_.number(option);
      source = "--" + std::string(option);
    } else {
      for (const Source& file : files_) {
        const Json* value = find(file, key);
        if (value == nullptr) continue;
        if (!value->is_number()) fail(file, key, *value, "is not a number");
        result = value->get<double>();
        source = file.name;
        break;
      }
    }
    if (!std::isfinite(result) || !allowed(result)) {
      const bool of_option = source.starts_with("--");
      throw Error(of_option ? source : source + ": " + key, shown(result) + " is out of range", std::string(range));
    }
    return show(key, result, source);
  }

  // The value of the first file that has the key.
  std::optional<std::pair<Json, std::string>> file_value(const char* key) const {
    for (const Source& file : files_) {
      if (const Json* value = find(file, key)) return std::make_pair(*value, file.name);
    }
    return std::nullopt;
  }

  template <typename Value>
  Value show(const char* key, Value value, const std::string& source) {
    settings_.shown.emplace_back(key, shown(value) + " (" + source + ")");
    return value;
  }

 private:
  static std::string shown(bool value) { return value ? "true" : "false"; }
  static std::string shown(double value) {
    return Json(value == std::floor(value) && std::abs(value) < 1e15 ? Json(static_cast<int64_t>(value)) : Json(value)).dump();
  }
  static std::string shown(const std::string& value) { return value; }

  static const Json* find(const Source& file, const char* key) {
    const auto value = file.json.find(key);
    return value == file.json.end() || value->is_null() ? nullptr : &*value;
  }
  [[noreturn]] static void fail(const Source& file, const char* key, const Json& value, const char* what) {
    throw Error(file.name + ": " + key, value.dump() + " " + what, "mend the file, or give the option");
  }

  const Options& options_;
  std::vector<Source> files_;
  GenerationSettings& settings_;
};

std::vector<Source> setting_files(const fs::path& dir) {
  std::vector<Source> files;
  for (const char* name : {"generation_config.json", "config.json"}) {
    std::error_code ignored;
    if (!fs::exists(dir / name, ignored)) continue;
    Json json = read_json_file(dir / name);
    if (!json.is_object()) throw Error((dir / name).string(), "is not a JSON object");
    files.push_back({name, std::move(json)});
  }
  return files;
}

std::vector<int32_t> token_ids(const Json& value, const std::string& where, int64_t vocab_size) {
  std::vector<int32_t> ids;
  for (const Json& id : value.is_array() ? value : Json::array({value})) {
    if (!id.is_number_integer()) throw Error(where, id.dump() + " is not a token id");
    // Some published files list an id that no logit has; it can never be generated.
    if (id >= 0 && id < vocab_size) ids.push_back(id.get<int32_t>());
  }
  return ids;
}

std::string id_list(const std::vector<int32_t>& ids) {
  return Json(ids).dump();
}

}  // namespace

GenerationSettings generation_settings(const Options& options, const fs::path& model_dir, const ModelConfig& config) {
  GenerationSettings settings;
  const std::vector<Source> files = setting_files(model_dir);
  SettingReader reader(options, files, settings);
  const auto at_least_zero = [](double x) { return x >= 0; };
  const auto positive = [](double x) { return x > 0; };
  const auto share = [](double x) { return x >= 0 && x <= 1; };
  const auto whole = [](double x) { return x >= 0 && x == std::floor(x) && x < 1e15; };

  if (const auto length = reader.file_value("max_length");
      length && !options.given("max-new-tokens") && !reader.file_value("max_new_tokens") && length->first != 20) {
    if (!length->first.is_number_integer() || length->first < 1)
      throw Error(length->second + ": max_length", length->first.dump() + " is not a length");
    settings.max_length = length->first.get<int64_t>();
    reader.show("max_length", static_cast<double>(*settings.max_length), length->second);
  } else {
    settings.max_new_tokens = static_cast<int64_t>(reader.number(
        "max-new-tokens", "max_new_tokens", 20, [](double x) { return x >= 1 && x == std::floor(x) && x < 1e15; },
        "1 or more"));
  }
  settings.sampling.do_sample = reader.flag("do-sample", "do_sample", false);
  settings.sampling.temperature = reader.number("temperature", "temperature", 1, at_least_zero, "0 or more");
  settings.sampling.top_k = static_cast<int64_t>(reader.number("top-k", "top_k", 0, whole, "a whole number, 0 or more"));
  settings.sampling.top_p = reader.number(
      "top-p", "top_p", 1, [](double x) { return x > 0 && x <= 1; }, "more than 0, at most 1");
  settings.sampling.min_p = reader.number("min-p", "min_p", 0, share, "from 0 to 1");
  settings.sampling.repetition_penalty = reader.number("repetition-penalty", "repetition_penalty", 1, positive, "more than 0");
  settings.sampling.seed = static_cast<uint64_t>(*options.count("seed"));
  reader.show("seed", std::to_string(settings.sampling.seed), options.given("seed") ? "--seed" : "default");

  const auto eos = reader.file_value("eos_token_id");
  if (options.flag("ignore-eos")) {
    reader.show("eos_token_id", std::string("[]"), "--ignore-eos");
  } else if (eos) {
    settings.eos_token_ids = token_ids(eos->first, eos->second + ": eos_token_id", config.vocab_size);
    reader.show("eos_token_id", id_list(settings.eos_token_ids), eos->second);
  } else {
    reader.show("eos_token_id", std::string("[]"), "default");
  }
  if (!files.empty() && files[0].name == "generation_config.json") {
    for (const auto& [key, value] : files[0].json.items()) {
      if (!is_harmless(key, value))
        settings.notes.push_back("generation_config.json: " + key + " = " + value.dump() + " is not used");
    }
  }
  return settings;
}

}  // namespace tp
