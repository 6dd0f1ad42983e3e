#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sharding/json_document.h"

namespace tp {

// The values of a config.json, typed and range checked. A value that is wrong is noted as a problem and a harmless one is
// returned, so that throw_problems() can tell all of them at once. Keys that are absent take the family's default; null is
// a value like any other, as in transformers.
class ConfigValues {
 public:
  // `path` is what messages call the file.
  ConfigValues(Json values, const Json& defaults, std::string path);

  bool has(const std::string& key) const;        // written in the file or a default, and not null
  bool written(const std::string& key) const;    // in the file itself, null or not
  bool known(const std::string& key) const;      // the family has a default for it, be it null
  const Json& at(const std::string& key) const;  // null when absent

  // A whole number in [low, high]; a missing or wrong one is a problem.
  int64_t integer(const std::string& key, int64_t low, int64_t high);
  // nullopt when absent or null.
  std::optional<int64_t> optional_integer(const std::string& key, int64_t low, int64_t high);
  double number(const std::string& key, double low, double high);
  std::optional<double> optional_number(const std::string& key, double low, double high);
  bool boolean(const std::string& key);  // false when absent or null
  std::string text(const std::string& key);
  std::vector<int64_t> integers(const std::string& key, int64_t low, int64_t high);
  std::vector<double> numbers(const std::string& key, double low, double high);
  std::vector<std::string> texts(const std::string& key);

  // The values of an object inside the file, with the same path and problem list; messages name "key.inner".
  ConfigValues inner(const std::string& key, Json values) const;
  // The same for the object under `key`; empty when there is none.
  ConfigValues object(const std::string& key) const;

  // Other spellings of keys, "written=meant written=meant": what is written under the first counts as the second.
  void rename(std::string_view aliases);

  void problem(const std::string& key, const std::string& what);
  // No problem was noted of any of these keys: for checks of values against one another.
  bool sound(const std::vector<std::string>& keys) const;
  void throw_problems(const std::string& fix = "") const;
  const std::string& path() const { return path_; }
  const Json& written_values() const { return written_; }

 private:
  ConfigValues(Json values, std::string path, std::string prefix, std::shared_ptr<std::vector<std::string>> problems);
  std::string shown(const std::string& key) const { return "`" + prefix_ + key + "`"; }
  std::optional<int64_t> whole(const Json& value, const std::string& key, int64_t low, int64_t high);
  std::optional<double> real(const Json& value, const std::string& key, double low, double high);
  const Json* list(const std::string& key);

  Json written_;
  Json defaults_ = Json::object();
  std::string path_;
  std::string prefix_;
  std::shared_ptr<std::vector<std::string>> problems_;
};

// "a=b c=d" as pairs.
std::vector<std::pair<std::string, std::string>> parse_aliases(std::string_view aliases);

}  // namespace tp
