#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tp {

using OrderedJson = nlohmann::ordered_json;  // templates write keys in the order they came

// A conversation as the text that a model was trained on, as transformers' apply_chat_template(tokenize=False) gives it.
//   chat_template  Jinja (jinja/template.h); `name` is what messages call it
//   messages       [{"role": …, "content": …}, …]
//   tools          JSON schemas of functions, or null
//   extra          an object of further variables: bos_token, eos_token, enable_thinking, …
// Throws Error with line and column for a template that cannot be read or run, and what it raises itself.
std::string render_chat(const std::string& chat_template, const std::string& name, const OrderedJson& messages,
                        const OrderedJson& tools, bool add_generation_prompt, const OrderedJson& extra);

}  // namespace tp
