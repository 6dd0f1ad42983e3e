#include "runtime/chat_template.h"

#include "runtime/jinja/template.h"
#include "sharding/error.h"

namespace tp {
namespace {

jinja::Value value_of(const OrderedJson& json) {
  if (json.is_null()) return {};
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_unsigned() && json.get<uint64_t>() > INT64_MAX) throw jinja::Fault{json.dump() + " is too large a number"};
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_array()) {
    jinja::List items;
    for (const OrderedJson& item : json) items.push_back(value_of(item));
    return items;
  }
  jinja::Dict dict;
  for (const auto& [key, item] : json.items()) dict.items.emplace_back(key, value_of(item));
  return dict;
}

// As transformers hands it to a template: without the keys that are null (`"content": null` beside tool calls), which many
// templates would write as `None`, and with what the model thought before it answered under both names that templates read.
OrderedJson prepared(const OrderedJson& message) {
  const auto has = [&](const char* key) { return message.contains(key) && !message[key].is_null(); };
  const char* reasoning = nullptr;
  for (const char* name : {"reasoning", "thinking", "reasoning_content"}) {
    if (has(name)) reasoning = name;
  }
  OrderedJson given = OrderedJson::object();
  if (reasoning) given["thinking"] = message[has("thinking") ? "thinking" : reasoning];  // comes first
  for (const auto& [key, value] : message.items()) {
    if (!value.is_null()) given[key] = value;
  }
  if (reasoning) given["reasoning_content"] = message[reasoning];
  return given;
}

std::map<std::string, jinja::Value> variables_of(const OrderedJson& messages, const OrderedJson& tools,
                                                 const OrderedJson& extra) try {
  std::map<std::string, jinja::Value> variables;
  if (extra.is_object()) {
    for (const auto& [key, item] : extra.items()) variables[key] = value_of(item);
  }
  variables["messages"] = value_of(messages);
  variables["tools"] = value_of(tools);
  variables.try_emplace("documents");
  return variables;
} catch (const jinja::Fault& fault) {
  throw Error("messages", fault.message);
}

}  // namespace

std::string render_chat(const std::string& chat_template, const std::string& name, const OrderedJson& messages,
                        const OrderedJson& tools, bool add_generation_prompt, const OrderedJson& extra) {
  if (!messages.is_array()) throw Error("messages", "expected an array of messages");
  OrderedJson given = OrderedJson::array();
  for (const OrderedJson& message : messages) {
    if (!message.is_object()) throw Error("messages", "expected an object with role and content, found " + message.dump());
    given.push_back(prepared(message));
  }
  std::map<std::string, jinja::Value> variables = variables_of(given, tools, extra);
  variables["add_generation_prompt"] = add_generation_prompt;
  return jinja::Template(chat_template, name).render(std::move(variables));
}

}  // namespace tp
