#include "runtime/text/json_node.h"

#include "sharding/error.h"

namespace tp {

void JsonNode::fail(const std::string& what, const std::string& fix) const {
  throw Error(file_, way_.empty() ? what : way_ + ": " + what, fix);
}

void JsonNode::need_object() const {
  if (!value_->is_object()) fail(std::string("expected an object, found ") + value_->type_name());
}

JsonNode JsonNode::at(const std::string& key) const {
  need_object();
  const auto found = value_->find(key);
  if (found == value_->end()) fail("`" + key + "` is missing");
  return {*found, file_, way_.empty() ? key : way_ + "." + key};
}

std::optional<JsonNode> JsonNode::find(const std::string& key) const {
  need_object();
  const auto found = value_->find(key);
  if (found == value_->end() || found->is_null()) return std::nullopt;
  return at(key);
}

std::vector<JsonNode> JsonNode::items() const {
  if (!value_->is_array()) fail(std::string("expected an array, found ") + value_->type_name());
  std::vector<JsonNode> nodes;
  nodes.reserve(value_->size());
  for (size_t i = 0; i < value_->size(); ++i) nodes.push_back({(*value_)[i], file_, way_ + "[" + std::to_string(i) + "]"});
  return nodes;
}

std::string JsonNode::text() const {
  if (!value_->is_string()) fail(std::string("expected a string, found ") + value_->type_name());
  return value_->get<std::string>();
}

bool JsonNode::flag() const {
  if (!value_->is_boolean()) fail(std::string("expected true or false, found ") + value_->type_name());
  return value_->get<bool>();
}

int64_t JsonNode::whole(int64_t low, int64_t high) const {
  if (!value_->is_number_integer()) fail("expected a whole number, found " + value_->dump());
  const bool huge = value_->is_number_unsigned() && value_->get<uint64_t>() > static_cast<uint64_t>(INT64_MAX);
  const int64_t number = huge ? INT64_MAX : value_->get<int64_t>();
  if (huge || number < low || number > high) {
    fail(value_->dump() + " is not in " + std::to_string(low) + ".." + std::to_string(high));
  }
  return number;
}

double JsonNode::number() const {
  if (!value_->is_number()) fail(std::string("expected a number, found ") + value_->type_name());
  return value_->get<double>();
}

bool JsonNode::flag(const std::string& key, bool otherwise) const {
  const auto node = find(key);
  return node ? node->flag() : otherwise;
}

std::string JsonNode::text(const std::string& key, const std::string& otherwise) const {
  const auto node = find(key);
  return node ? node->text() : otherwise;
}

std::string type_of(const JsonNode& node) {
  return node.at("type").text();
}

}  // namespace tp
