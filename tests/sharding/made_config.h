#pragma once

#include <string>

#include "sharding/error.h"
#include "sharding/json_document.h"
#include "sharding/model_config.h"

namespace tp {

// A config.json of `type` with small sizes, `change` laid over it; a null in `change` stays a null.
inline std::string text_of(const std::string& type, const std::string& change = "{}") {
  Json config = {{"model_type", type},     {"vocab_size", 32},         {"hidden_size", 64},       {"intermediate_size", 96},
                 {"num_hidden_layers", 4}, {"num_attention_heads", 8}, {"num_key_value_heads", 4}};
  config.update(Json::parse(change));
  return config.dump();
}

inline ModelConfig config_of(const std::string& type, const std::string& change = "{}") {
  return parse_model_config(text_of(type, change), "config.json");
}

// The text of the refusal, or "accepted".
inline std::string refusal(const std::string& type, const std::string& change) {
  try {
    config_of(type, change);
  } catch (const Error& error) {
    return error.text();
  }
  return "accepted";
}

}  // namespace tp
