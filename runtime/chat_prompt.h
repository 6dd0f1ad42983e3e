#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "runtime/chat_template.h"

namespace tp {

// What a conversation is turned into a prompt from.
struct ChatRequest {
  OrderedJson messages;  // [{"role", "content"}, …]
  OrderedJson tools;     // JSON schemas of functions, or null
  bool add_generation_prompt = true;
  OrderedJson variables;  // further variables of the template (enable_thinking), or null
};

// How a model turns messages into a prompt: its template and the special tokens that templates name. May be shared by threads.
class ChatPrompt {
 public:
  // The template is `file` when that is not empty, else chat_template.jinja of the model's directory, else what its
  // tokenizer_config.json has; of several the one named "default", or "tool_use" when a conversation has tools. Reads nothing
  // before text() is called.
  ChatPrompt(std::filesystem::path model_dir, std::string file, std::string system);
  ~ChatPrompt();

  // The prompt's text; the system message of --system comes first unless the messages bring their own. Throws Error: no
  // template, what is no list of messages, what the template raises.
  std::string text(ChatRequest request) const;
  // The same for one message of the user.
  std::string text_of_user(const std::string& content) const;

 private:
  struct Files;
  const Files& files() const;

  std::filesystem::path model_dir_;
  std::string file_, system_;
  std::unique_ptr<Files> files_;
};

}  // namespace tp
