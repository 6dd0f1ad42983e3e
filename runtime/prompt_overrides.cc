#include "runtime/prompt_overrides.h"

#include <charconv>
#include <cmath>

#include "sharding/error.h"

namespace tp {
namespace {

constexpr double kLargestWhole = 1e15;
constexpr int64_t kMostSamples = 1024;
constexpr int64_t kMostLogprobs = 1000;

bool at_least_zero(double x) {
  return x >= 0;
}
bool whole(double x) {
  return x >= 0 && x == std::floor(x) && x < kLargestWhole;
}
bool any(double) {
  return true;
}

[[noreturn]] void refuse(std::string_view key, const std::string& value, std::string_view what) {
  throw Error("", "`" + std::string(key) + "`: " + value + " is not " + std::string(what));
}

// The value of a key that is there and not null.
const Json* find(const Json& object, std::string_view key) {
  const auto value = object.find(key);
  return value == object.end() || value->is_null() ? nullptr : &*value;
}

bool boolean(const Json& value, std::string_view key) {
  if (!value.is_boolean()) refuse(key, value.dump(), "true or false");
  return value.get<bool>();
}

int64_t count(const Json& value, std::string_view key, int64_t least, int64_t most) {
  if (!value.is_number_integer() || value < least || value > most)
    refuse(key, value.dump(), "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return value.get<int64_t>();
}

std::vector<std::string> stop_texts(const Json& value) {
  std::vector<std::string> texts;
  for (const Json& text : value.is_array() ? value : Json::array({value})) {
    if (!text.is_string() || text.get_ref<const std::string&>().empty()) refuse("stop", text.dump(), "a text");
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

std::vector<std::pair<int32_t, double>> biases(const Json& value, int64_t vocab_size) {
  if (!value.is_object()) refuse("logit_bias", value.dump(), "an object of token ids and numbers");
  std::vector<std::pair<int32_t, double>> result;
  for (const auto& [key, bias] : value.items()) {
    int32_t id = -1;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size() || id < 0 || id >= vocab_size)
      refuse("logit_bias", Json(key).dump(), "a token id");
    if (!bias.is_number()) refuse("logit_bias", bias.dump(), "a number");
    result.emplace_back(id, bias.get<double>());
  }
  return result;
}

}  // namespace

const std::vector<NumberSetting>& number_settings() {
  static const std::vector<NumberSetting> settings = {
      {"temperature", 1, at_least_zero, "0 or more", [](SamplingOptions& s, double x) { s.temperature = x; }},
      {"top_k", 0, whole, "a whole number, 0 or more", [](SamplingOptions& s, double x) { s.top_k = static_cast<int64_t>(x); }},
      {"top_p", 1, [](double x) { return x > 0 && x <= 1; }, "more than 0, at most 1",
       [](SamplingOptions& s, double x) { s.top_p = x; }},
      {"min_p", 0, [](double x) { return x >= 0 && x <= 1; }, "from 0 to 1", [](SamplingOptions& s, double x) { s.min_p = x; }},
      {"repetition_penalty", 1, [](double x) { return x > 0; }, "more than 0",
       [](SamplingOptions& s, double x) { s.repetition_penalty = x; }},
      {"presence_penalty", 0, any, "a number", [](SamplingOptions& s, double x) { s.presence_penalty = x; }},
      {"frequency_penalty", 0, any, "a number", [](SamplingOptions& s, double x) { s.frequency_penalty = x; }},
      {"no_repeat_ngram_size", 0, whole, "a whole number, 0 or more",
       [](SamplingOptions& s, double x) { s.no_repeat_ngram_size = static_cast<int64_t>(x); }},
  };
  return settings;
}

const std::vector<std::string>& override_keys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> all = {"do_sample", "seed", "logit_bias", "stop", "ignore_eos", "logprobs"};
    for (const NumberSetting& setting : number_settings()) all.emplace_back(setting.key);
    return all;
  }();
  return keys;
}

void apply_overrides(const Json& object, int64_t vocab_size, PromptOptions& options) {
  for (const NumberSetting& setting : number_settings()) {
    const Json* value = find(object, setting.key);
    if (value == nullptr) continue;
    if (!value->is_number()) refuse(setting.key, value->dump(), "a number");
    const double number = value->get<double>();
    if (!std::isfinite(number) || !setting.allowed(number)) refuse(setting.key, value->dump(), setting.range);
    setting.set(options.sampling, number);
  }
  if (const Json* value = find(object, "do_sample")) options.sampling.do_sample = boolean(*value, "do_sample");
  if (const Json* value = find(object, "ignore_eos")) options.ignore_eos = boolean(*value, "ignore_eos");
  if (const Json* value = find(object, "seed")) {
    if (!value->is_number_integer()) refuse("seed", value->dump(), "a whole number");
    options.sampling.seed = value->is_number_unsigned() ? value->get<uint64_t>() : static_cast<uint64_t>(value->get<int64_t>());
  }
  if (const Json* value = find(object, "logit_bias")) options.sampling.logit_bias = biases(*value, vocab_size);
  if (const Json* value = find(object, "stop")) options.stop = stop_texts(*value);
  if (const Json* value = find(object, "logprobs")) options.top_logprobs = count(*value, "logprobs", 0, kMostLogprobs);
}

int64_t sample_count(const Json& object, int64_t otherwise) {
  for (const char* key : {"n", "num_return_sequences"}) {
    if (const Json* value = find(object, key)) return count(*value, key, 1, kMostSamples);
  }
  return otherwise;
}

uint64_t random_stream(int64_t index, int64_t sample) {
  return static_cast<uint64_t>(index) + (static_cast<uint64_t>(sample) << 32);
}

void require_drawn(const SamplingOptions& sampling, int64_t samples) {
  if (samples == 1 || (sampling.do_sample && sampling.temperature != 0)) return;
  throw Error("", std::to_string(samples) + " continuations of one prompt would be the same without sampling",
              "--do-sample, with a temperature that is not 0");
}

}  // namespace tp
