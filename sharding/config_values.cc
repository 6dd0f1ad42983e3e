#include "sharding/config_values.h"

#include <cmath>
#include <memory>
#include <sstream>
#include <utility>

#include "sharding/error.h"

namespace tp {
namespace {

const Json kAbsent = nullptr;

// Numbers as people write them: 4096, 0.5, 1e+06.
std::string number_text(double value) {
  return Json(value == std::floor(value) && std::abs(value) < 1e15 ? Json(static_cast<int64_t>(value)) : Json(value)).dump();
}

std::string shown_value(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() > 60 ? text.substr(0, 57) + "..." : text;
}

}  // namespace

ConfigValues::ConfigValues(Json values, const Json& defaults, std::string path)
    : written_(std::move(values)),
      defaults_(defaults),
      path_(std::move(path)),
      problems_(std::make_shared<std::vector<std::string>>()) {}

ConfigValues::ConfigValues(Json values, std::string path, std::string prefix,
                           std::shared_ptr<std::vector<std::string>> problems)
    : written_(std::move(values)), path_(std::move(path)), prefix_(std::move(prefix)), problems_(std::move(problems)) {}

bool ConfigValues::known(const std::string& key) const {
  return defaults_.contains(key);
}

bool ConfigValues::written(const std::string& key) const {
  return written_.contains(key);
}

const Json& ConfigValues::at(const std::string& key) const {
  if (written_.contains(key)) return written_.at(key);
  return defaults_.contains(key) ? defaults_.at(key) : kAbsent;
}

bool ConfigValues::has(const std::string& key) const {
  return !at(key).is_null();
}

void ConfigValues::problem(const std::string& key, const std::string& what) {
  const std::string text = shown(key) + " " + what;
  if (std::find(problems_->begin(), problems_->end(), text) == problems_->end()) problems_->push_back(text);
}

bool ConfigValues::sound(const std::vector<std::string>& keys) const {
  return std::none_of(keys.begin(), keys.end(), [&](const std::string& key) {
    return std::any_of(problems_->begin(), problems_->end(),
                       [&](const std::string& text) { return text.starts_with(shown(key)); });
  });
}

std::optional<int64_t> ConfigValues::whole(const Json& value, const std::string& key, int64_t low, int64_t high) {
  if (!value.is_number_integer()) {
    problem(key, "is " + shown_value(value) + ", not a whole number");
    return std::nullopt;
  }
  // A number beyond int64 is unsigned in nlohmann's eyes and would turn negative.
  const bool huge = value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX);
  const int64_t number = huge ? INT64_MAX : value.get<int64_t>();
  if (huge || number < low || number > high) {
    problem(key, "is " + shown_value(value) + ", not between " + std::to_string(low) + " and " + std::to_string(high));
    return std::nullopt;
  }
  return number;
}

std::optional<double> ConfigValues::real(const Json& value, const std::string& key, double low, double high) {
  if (!value.is_number()) {
    problem(key, "is " + shown_value(value) + ", not a number");
    return std::nullopt;
  }
  const double number = value.get<double>();
  if (!(number >= low && number <= high)) {
    problem(key, "is " + shown_value(value) + ", not between " + number_text(low) + " and " + number_text(high));
    return std::nullopt;
  }
  return number;
}

int64_t ConfigValues::integer(const std::string& key, int64_t low, int64_t high) {
  if (!has(key)) {
    problem(key, written(key) ? "is null" : "is missing");
    return low;
  }
  return whole(at(key), key, low, high).value_or(low);
}

std::optional<int64_t> ConfigValues::optional_integer(const std::string& key, int64_t low, int64_t high) {
  if (!has(key)) return std::nullopt;
  return whole(at(key), key, low, high);
}

double ConfigValues::number(const std::string& key, double low, double high) {
  if (!has(key)) {
    problem(key, written(key) ? "is null" : "is missing");
    return low;
  }
  return real(at(key), key, low, high).value_or(low);
}

std::optional<double> ConfigValues::optional_number(const std::string& key, double low, double high) {
  if (!has(key)) return std::nullopt;
  return real(at(key), key, low, high);
}

bool ConfigValues::boolean(const std::string& key) {
  const Json& value = at(key);
  if (value.is_null()) return false;
  if (value.is_boolean()) return value.get<bool>();
  problem(key, "is " + shown_value(value) + ", not true or false");
  return false;
}

std::string ConfigValues::text(const std::string& key) {
  const Json& value = at(key);
  if (value.is_string()) return value.get<std::string>();
  problem(key, value.is_null() ? (written(key) ? "is null" : "is missing") : "is " + shown_value(value) + ", not a string");
  return "";
}

const Json* ConfigValues::list(const std::string& key) {
  const Json& value = at(key);
  if (value.is_array()) return &value;
  problem(key, value.is_null() ? "is missing" : "is " + shown_value(value) + ", not a list");
  return nullptr;
}

std::vector<int64_t> ConfigValues::integers(const std::string& key, int64_t low, int64_t high) {
  std::vector<int64_t> result;
  const Json* values = list(key);
  if (!values) return result;
  for (const Json& value : *values) {
    const std::optional<int64_t> number = whole(value, key, low, high);
    if (!number) return {};
    result.push_back(*number);
  }
  return result;
}

std::vector<double> ConfigValues::numbers(const std::string& key, double low, double high) {
  std::vector<double> result;
  const Json* values = list(key);
  if (!values) return result;
  for (const Json& value : *values) {
    const std::optional<double> number = real(value, key, low, high);
    if (!number) return {};
    result.push_back(*number);
  }
  return result;
}

std::vector<std::string> ConfigValues::texts(const std::string& key) {
  std::vector<std::string> result;
  const Json* values = list(key);
  if (!values) return result;
  for (const Json& value : *values) {
    if (!value.is_string()) {
      problem(key, "has " + shown_value(value) + ", not a string");
      return {};
    }
    result.push_back(value.get<std::string>());
  }
  return result;
}

ConfigValues ConfigValues::inner(const std::string& key, Json values) const {
  return ConfigValues(values.is_object() ? std::move(values) : Json::object(), path_, prefix_ + key + ".", problems_);
}

ConfigValues ConfigValues::object(const std::string& key) const {
  return inner(key, at(key));
}

std::vector<std::pair<std::string, std::string>> parse_aliases(std::string_view aliases) {
  std::vector<std::pair<std::string, std::string>> pairs;
  std::istringstream words{std::string(aliases)};
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    pairs.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  return pairs;
}

void ConfigValues::rename(std::string_view aliases) {
  for (const auto& [from, to] : parse_aliases(aliases)) {
    if (!written_.contains(from)) continue;
    const Json value = written_.at(from);
    written_.erase(from);
    if (!written_.contains(to)) {
      written_[to] = value;
    } else if (written_.at(to) != value) {
      problem(from, "is " + shown_value(value) + ", but `" + to + "` says " + shown_value(written_.at(to)));
    }
  }
}

void ConfigValues::throw_problems(const std::string& fix) const {
  if (problems_->empty()) return;
  std::string what;
  for (const std::string& one : *problems_) what += (what.empty() ? "" : "\n  ") + one;
  throw Error(path_, what, fix);
}

}  // namespace tp
