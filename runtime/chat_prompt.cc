#include "runtime/chat_prompt.h"

#include <mutex>
#include <optional>
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

// A model may have several templates; these two names have a meaning.
struct Templates {
  std::optional<Template> usual, with_tools;
  std::string other_names;

  void add(const std::string& name, Template found) {
    if (name == "default") {
      usual = std::move(found);
    } else if (name == "tool_use") {
      with_tools = std::move(found);
    } else {
      other_names += (other_names.empty() ? "" : ", ") + name;
    }
  }

  const Template& of(bool tools) const {
    if (tools && with_tools) return *with_tools;
    if (usual && !usual->text.empty()) return *usual;
    const std::string names = other_names.empty() ? "" : " that is the default; it has " + other_names;
    throw Error("--chat", "the model has no chat template" + names, "--chat-template FILE");
  }
};

// As transformers reads them: files before what tokenizer_config.json has, a string or a list of named ones.
Templates find_templates(const fs::path& model_dir, const std::string& file, const Json& config) {
  const auto read = [](const fs::path& path) { return Template{read_text_file(path, kLargestTemplate), path}; };
  Templates templates;
  if (!file.empty()) {
    templates.usual = read(file);
    return templates;
  }
  const auto value = config.find("chat_template");
  const std::string where = (model_dir / "tokenizer_config.json").string() + ": chat_template";
  if (value != config.end() && value->is_string()) templates.usual = {value->get<std::string>(), where};
  if (value != config.end() && value->is_array()) {
    for (const Json& entry : *value) {
      if (entry.is_object()) templates.add(entry.value("name", ""), {entry.value("template", ""), where});
    }
  }
  std::error_code ignored;
  const fs::path beside = model_dir / "chat_template.jinja", tools = model_dir / "additional_chat_templates/tool_use.jinja";
  if (fs::exists(beside, ignored)) {
    templates = {.usual = read(beside)};
    if (fs::exists(tools, ignored)) templates.with_tools = read(tools);
  }
  return templates;
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
  Templates templates;
  OrderedJson special_tokens;
};

ChatPrompt::ChatPrompt(fs::path model_dir, std::string file, std::string system)
    : model_dir_(std::move(model_dir)), file_(std::move(file)), system_(std::move(system)), files_(std::make_unique<Files>()) {}

ChatPrompt::~ChatPrompt() = default;

const ChatPrompt::Files& ChatPrompt::files() const {
  std::call_once(files_->once, [&] {
    const Json config = tokenizer_config(model_dir_);
    files_->templates = find_templates(model_dir_, file_, config);
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
  const Template& found = files().templates.of(!request.tools.is_null());
  return render_chat(found.text, found.name, messages, request.tools, request.add_generation_prompt, variables);
}

std::string ChatPrompt::text_of_user(const std::string& content) const {
  return text({.messages = OrderedJson::array({OrderedJson{{"role", "user"}, {"content", content}}})});
}

}  // namespace tp
