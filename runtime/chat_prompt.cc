#include "runtime/chat_prompt.h"

#include <mutex>
#include <utility>

#include "sharding/error.h"
#include "sharding/json_document.h"

namespace tp {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kLargestTemplate = int64_t{1} << 20;

struct Template {
  std::string text, name;
};

Json tokenizer_config(const fs::path& model_dir) {
  const fs::path path = model_dir / "tokenizer_config.json";
  std::error_code ignored;
  return fs::exists(path, ignored) ? read_json_file(path) : Json::object();
}

// A string, or a list of named ones of which "default" is meant.
std::string template_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return "";
  for (const Json& entry : value) {
    if (entry.is_object() && entry.value("name", "") == "default") return entry.value("template", "");
  }
  return "";
}

Template find_template(const fs::path& model_dir, const std::string& file, const Json& config) {
  if (!file.empty()) return {read_text_file(file, kLargestTemplate), file};
  const fs::path beside = model_dir / "chat_template.jinja";
  std::error_code ignored;
  if (fs::exists(beside, ignored)) return {read_text_file(beside, kLargestTemplate), beside};
  const auto value = config.find("chat_template");
  const std::string text = value == config.end() ? "" : template_of(*value);
  if (text.empty()) throw Error("--chat", "the model has no chat template", "--chat-template FILE");
  return {text, (model_dir / "tokenizer_config.json").string() + ": chat_template"};
}

// bos_token and the like: a string, or an object with its content.
OrderedJson special_tokens(const Json& config) {
  OrderedJson tokens = OrderedJson::object();
  for (const auto& [key, value] : config.items()) {
    if (!key.ends_with("_token")) continue;
    if (value.is_string()) tokens[key] = value.get<std::string>();
    if (value.is_object() && value.contains("content") && value["content"].is_string())
      tokens[key] = value["content"].get<std::string>();
  }
  return tokens;
}

}  // namespace

// What the model's directory says, read once.
struct ChatPrompt::Files {
  std::once_flag once;
  Template chat_template;
  OrderedJson special_tokens;
};

ChatPrompt::ChatPrompt(fs::path model_dir, std::string file, std::string system)
    : model_dir_(std::move(model_dir)), file_(std::move(file)), system_(std::move(system)), files_(std::make_unique<Files>()) {}

ChatPrompt::~ChatPrompt() = default;

const ChatPrompt::Files& ChatPrompt::files() const {
  std::call_once(files_->once, [&] {
    const Json config = tokenizer_config(model_dir_);
    files_->chat_template = find_template(model_dir_, file_, config);
    files_->special_tokens = special_tokens(config);
  });
  return *files_;
}

std::string ChatPrompt::text(ChatRequest request) const {
  OrderedJson& messages = request.messages;
  if (!messages.is_array() || messages.empty()) throw Error("", "`messages` is not a list of messages");
  for (const OrderedJson& message : messages) {
    if (!message.is_object() || !message.contains("role") || !message["role"].is_string())
      throw Error("", "a message has no `role`");
  }
  if (!system_.empty() && messages[0]["role"] != "system") {
    messages.insert(messages.begin(), OrderedJson{{"role", "system"}, {"content", system_}});
  }
  OrderedJson variables = files().special_tokens;
  if (request.variables.is_object()) variables.update(request.variables);
  const Template& found = files().chat_template;
  return render_chat(found.text, found.name, messages, request.tools, request.add_generation_prompt, variables);
}

std::string ChatPrompt::text_of_user(const std::string& content) const {
  return text({.messages = OrderedJson::array({OrderedJson{{"role", "user"}, {"content", content}}})});
}

}  // namespace tp
