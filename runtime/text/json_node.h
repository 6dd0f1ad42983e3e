#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sharding/json_document.h"

namespace tp {

// A value inside a JSON file with the way to it ("pre_tokenizer.pretokenizers[1].pattern"), for reading with one clear error:
// every accessor throws Error{where = the file, "WAY: what is wrong"} when the value is not what it asks for.
class JsonNode {
 public:
  JsonNode(const Json& value, std::string file, std::string way = "")
      : value_(&value), file_(std::move(file)), way_(std::move(way)) {}

  [[noreturn]] void fail(const std::string& what, const std::string& fix = "") const;

  JsonNode at(const std::string& key) const;                   // a key that must be there
  std::optional<JsonNode> find(const std::string& key) const;  // nullopt when absent or null
  std::vector<JsonNode> items() const;                         // of an array
  std::string text() const;                                    // valid UTF-8, since JSON is
  bool flag() const;
  int64_t whole(int64_t low, int64_t high) const;  // an integer in low..high
  double number() const;

  bool flag(const std::string& key, bool otherwise) const;
  std::string text(const std::string& key, const std::string& otherwise) const;

  const Json& value() const { return *value_; }
  const std::string& file() const { return file_; }

 private:
  void need_object() const;

  const Json* value_;
  std::string file_;
  std::string way_;
};

// The node's "type".
std::string type_of(const JsonNode& node);

}  // namespace tp
