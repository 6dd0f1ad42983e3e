#include "launcher/generation_settings.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "launcher/option_table.h"
#include "runtime/prompt_overrides.h"
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
                                                        {"encoder_repetition_penalty", 1},
                                                        {"encoder_no_repeat_ngram_size", 0},
                                                        {"min_length", 0},
                                                        {"guidance_scale", 1}};
  if (value.is_null() || value == false || harmless.contains(key) || key.starts_with("_")) return true;
  const auto& read = number_settings();
  if (std::any_of(read.begin(), read.end(), [&](const NumberSetting& s) { return s.key == key; })) return true;
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

  double number(const std::string& key, double otherwise, bool (*allowed)(double), std::string_view range) {
    std::string option = key;
    std::replace(option.begin(), option.end(), '_', '-');
    double result = otherwise;
    std::string source = "default";
    if (options_.given(option)) {
      result = option_row(option).type == OptionType::kCount ? static_cast<double>(*options_.count(option))
                                                             : *options_.number(option);
      source = "--" + option;
    } else {
      for (const Source& file : files_) {
        const Json* value = find(file, key.c_str());
        if (value == nullptr) continue;
        if (!value->is_number()) fail(file, key.c_str(), *value, "is not a number");
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
  Value show(const std::string& key, Value value, const std::string& source) {
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
    if (!json.is_object()) throw Error((dir / name).string(), "is not a JSON object", "get the file again");
    files.push_back({name, std::move(json)});
  }
  return files;
}

std::vector<int32_t> token_ids(const Json& value, const std::string& where, int64_t vocab_size) {
  std::vector<int32_t> ids;
  for (const Json& id : value.is_array() ? value : Json::array({value})) {
    if (!id.is_number_integer()) throw Error(where, id.dump() + " is not a token id", "correct it in the file");
    // Some published files list an id that no logit has; it can never be generated.
    if (id >= 0 && id < vocab_size) ids.push_back(id.get<int32_t>());
  }
  return ids;
}

std::string id_list(const std::vector<int32_t>& ids) {
  return Json(ids).dump();
}

// --logit-bias ID=X
std::vector<std::pair<int32_t, double>> logit_biases(const Options& options, int64_t vocab_size) {
  PromptOptions read;
  Json object = Json::object();
  for (const std::string& text : options.texts("logit-bias")) {
    const size_t equals = text.find('=');
    Json value =
        equals == std::string::npos ? Json() : Json::parse(text.substr(equals + 1), nullptr, /*allow_exceptions=*/false);
    if (!value.is_number()) throw Error("--logit-bias", "`" + text + "` is not ID=NUMBER", "--logit-bias 5=-100");
    object["logit_bias"][text.substr(0, equals)] = std::move(value);
  }
  try {
    apply_overrides(object, vocab_size, read);
  } catch (const Error& error) {
    throw Error("--logit-bias", error.message(), "ids are 0 to " + std::to_string(vocab_size - 1));
  }
  return read.sampling.logit_bias;
}

// What the options say that can have no effect.
std::vector<std::string> ineffective(const Options& options, const SamplingOptions& sampling) {
  std::vector<std::string> notes;
  if (sampling.do_sample) return notes;
  for (const char* option : {"temperature", "top-k", "top-p", "min-p"}) {
    if (options.given(option)) notes.push_back("--" + std::string(option) + " has no effect without --do-sample");
  }
  return notes;
}

// The number of new tokens, or the whole length where the model's files bound that.
void read_length(SettingReader& reader, const Options& options, GenerationSettings& settings) {
  const auto length = reader.file_value("max_length");
  if (length && !options.given("max-new-tokens") && !reader.file_value("max_new_tokens") && length->first != 20) {
    if (!length->first.is_number_integer() || length->first < 1)
      throw Error(length->second + ": max_length", length->first.dump() + " is not a length",
                  "correct it in the file, or give --max-new-tokens");
    settings.max_length = length->first.get<int64_t>();
    reader.show("max_length", static_cast<double>(*settings.max_length), length->second);
    return;
  }
  settings.max_new_tokens_by_default = !options.given("max-new-tokens") && !reader.file_value("max_new_tokens");
  settings.max_new_tokens = static_cast<int64_t>(reader.number(
      "max_new_tokens", 20, [](double x) { return x >= 1 && x == std::floor(x) && x < 1e15; }, "1 or more"));
}

void read_end(SettingReader& reader, const Options& options, const ModelConfig& config, GenerationSettings& settings) {
  const auto eos = reader.file_value("eos_token_id");
  settings.prompt.ignore_eos = options.flag("ignore-eos");
  if (eos) settings.eos_token_ids = token_ids(eos->first, eos->second + ": eos_token_id", config.vocab_size);
  if (settings.prompt.ignore_eos) {
    reader.show("eos_token_id", std::string("[]"), "--ignore-eos");
  } else {
    reader.show("eos_token_id", id_list(settings.eos_token_ids), eos ? eos->second : "default");
  }
  settings.prompt.stop = options.texts("stop");
  reader.show("stop", Json(settings.prompt.stop).dump(), options.given("stop") ? "--stop" : "default");
}

}  // namespace

GenerationSettings generation_settings(const Options& options, const fs::path& model_dir, const ModelConfig& config) {
  GenerationSettings settings;
  SamplingOptions& sampling = settings.prompt.sampling;
  const std::vector<Source> files = setting_files(model_dir);
  SettingReader reader(options, files, settings);
  const auto from_option = [&](const char* name) { return options.given(name) ? "--" + std::string(name) : "default"; };

  read_length(reader, options, settings);
  sampling.do_sample = reader.flag("do-sample", "do_sample", false);
  for (const NumberSetting& setting : number_settings())
    setting.set(sampling, reader.number(std::string(setting.key), setting.otherwise, setting.allowed, setting.range));
  sampling.logit_bias = logit_biases(options, config.vocab_size);
  reader.show("logit_bias", Json(sampling.logit_bias).dump(), from_option("logit-bias"));
  sampling.seed = static_cast<uint64_t>(*options.count("seed"));
  reader.show("seed", std::to_string(sampling.seed), from_option("seed"));
  settings.samples = static_cast<int64_t>(reader.number(
      "num_return_sequences", 1, [](double x) { return x >= 1 && x == std::floor(x) && x <= 1024; },
      "a whole number from 1 to 1024"));
  settings.prompt.top_logprobs = options.count("logprobs");
  reader.show("logprobs", settings.prompt.top_logprobs ? std::to_string(*settings.prompt.top_logprobs) : "none",
              from_option("logprobs"));
  read_end(reader, options, config, settings);

  settings.notes = ineffective(options, sampling);
  if (!files.empty() && files[0].name == "generation_config.json") {
    for (const auto& [key, value] : files[0].json.items()) {
      if (!is_harmless(key, value))
        settings.notes.push_back("generation_config.json: " + key + " = " + value.dump() + " is not used");
    }
  }
  return settings;
}

}  // namespace tp
