#pragma once

#include <filesystem>
#include <string>

#include "runtime/chat_template.h"

namespace tp {

// How a model turns messages into a prompt: its template and the special tokens that templates name.
class ChatPrompt {
 public:
  // The template is `file` when that is not empty, else chat_template.jinja of the model's directory, else what its
  // tokenizer_config.json has. Reads no template before text() is called.
  ChatPrompt(std::filesystem::path model_dir, std::string file, std::string system);

  // The prompt's text for [{"role", "content"}, …], ready for the assistant's answer; the system message of --system comes
  // first unless the messages bring their own. Throws Error: no template, what is no list of messages, what the template
  // raises.
  std::string text(OrderedJson messages) const;
  // The same for one message of the user.
  std::string text_of_user(const std::string& content) const;

 private:
  std::filesystem::path model_dir_;
  std::string file_, system_;
};

}  // namespace tp
