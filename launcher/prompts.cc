#include "launcher/prompts.h"

#include <charconv>

#include "launcher/jsonl_file.h"
#include "sharding/error.h"

namespace tp {
namespace {

constexpr int64_t kLargestPromptFile = int64_t{64} << 20;

class PromptReader {
 public:
  PromptReader(std::shared_ptr<const Tokenizer> tokenizer, const ChatPrompt& chat, bool texts_are_messages, int64_t vocab_size,
               bool score)
      : tokenizer_(std::move(tokenizer)),
        chat_(chat),
        texts_are_messages_(texts_are_messages),
        vocab_size_(vocab_size),
        score_(score) {}

  JobPrompt from_text(const std::string& text) const {
    // A template writes the special tokens itself.
    return texts_are_messages_ ? encoded(chat_.text_of_user(text), false) : encoded(text, true);
  }

  JobPrompt encoded(const std::string& text, bool add_special) const {
    if (!tokenizer_)
      throw Error("", "a text needs a tokenizer, and the model directory has no tokenizer.json",
                  "--tokenizer DIR|FILE, or ids");
    JobPrompt prompt;
    prompt.text = text;
    prompt.ids = tokenizer_->encode(text, add_special);
    check(prompt.ids);
    return prompt;
  }

  JobPrompt from_json(const Json& object) const {
    std::vector<std::string> sources;
    for (const char* key : {"prompt", "ids", "messages", "text"}) {
      if (object.contains(key)) sources.emplace_back(key);
    }
    require_known_keys(object, {"prompt", "ids", "messages", "text", "max_new_tokens"});
    if (sources.size() != 1) {
      throw Error("", sources.empty() ? "has none of `prompt`, `messages`, `ids`"
                                      : "has both `" + sources[0] + "` and `" + sources[1] + "`");
    }
    if (sources[0] == "text" && !score_) throw Error("", "`text` is for score and tokenize; a prompt to continue is `prompt`");
    const Json& value = object[sources[0]];
    JobPrompt prompt = sources[0] == "ids"        ? from_id_list(value)
                       : sources[0] == "messages" ? encoded(chat_.text(OrderedJson::parse(value.dump())), false)
                                                  : from_text(text_of(value, sources[0]));
    if (object.contains("max_new_tokens")) {
      const Json& count = object["max_new_tokens"];
      if (!count.is_number_integer() || count < 1 || count > INT32_MAX)
        throw Error("", "`max_new_tokens`: " + count.dump() + " is not a whole number, 1 or more");
      prompt.max_new_tokens = count.get<int64_t>();
    }
    return prompt;
  }

  JobPrompt from_option(const std::string& list) const {
    JobPrompt prompt;
    for (size_t at = 0; at <= list.size();) {
      size_t end = std::min(list.find(',', at), list.size());
      std::string word = list.substr(at, end - at);
      std::erase(word, ' ');
      int32_t id = 0;
      const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), id);
      if (error != std::errc() || rest != word.data() + word.size())
        throw Error("", "`" + word + "` is not a token id", "--ids 1,2,3");
      prompt.ids.push_back(id);
      at = end + 1;
    }
    check(prompt.ids);
    return prompt;
  }

 private:
  static std::string text_of(const Json& value, const std::string& key) {
    if (!value.is_string()) throw Error("", "`" + key + "` is not a text");
    return value.get<std::string>();
  }

  JobPrompt from_id_list(const Json& value) const {
    if (!value.is_array()) throw Error("", "`ids` is not a list");
    JobPrompt prompt;
    for (const Json& id : value) {
      if (!id.is_number_integer() || id < INT32_MIN || id > INT32_MAX)
        throw Error("", "`ids`: " + id.dump() + " is not a token id");
      prompt.ids.push_back(id.get<int32_t>());
    }
    check(prompt.ids);
    return prompt;
  }

  void check(const std::vector<int32_t>& ids) const {
    if (ids.empty()) throw Error("", "has no token", "give at least one");
    for (int32_t id : ids) {
      if (id >= 0 && id < vocab_size_) continue;
      throw Error("", "token id " + std::to_string(id) + " is outside the vocabulary of " + std::to_string(vocab_size_),
                  "ids are 0 to " + std::to_string(vocab_size_ - 1));
    }
  }

  std::shared_ptr<const Tokenizer> tokenizer_;
  const ChatPrompt& chat_;
  bool texts_are_messages_;
  int64_t vocab_size_;
  bool score_;
};

std::string prompt_source(const Options& options) {
  std::vector<std::string> given;
  for (const char* name : {"prompt", "prompt-file", "input", "ids"}) {
    if (options.given(name)) given.emplace_back(name);
  }
  if (given.empty()) throw Error(options.command, "no prompt", "give one of --prompt, --prompt-file, --input, --ids");
  if (given.size() > 1) throw Error("--" + given[0], "and --" + given[1] + " are both given", "keep one of them");
  return given[0];
}

}  // namespace

std::vector<JobPrompt> read_prompts(const Options& options, const std::shared_ptr<const Tokenizer>& tokenizer,
                                    const ChatPrompt& chat, int64_t vocab_size, bool score) {
  const std::string source = prompt_source(options);
  if (options.flag("chat") && source == "ids")
    throw Error("--chat", "is for texts, and the prompt is given as ids", "--prompt TEXT");
  if (!options.flag("chat") && source != "input") {
    for (const char* name : {"system", "chat-template"}) {
      if (options.given(name)) throw Error("--" + std::string(name), "is for messages", "add --chat");
    }
  }
  const PromptReader reader(tokenizer, chat, options.flag("chat"), vocab_size, score);
  std::vector<JobPrompt> prompts;
  if (source == "input") {
    read_jsonl(options.text("input"), [&](const Json& object, int64_t) { prompts.push_back(reader.from_json(object)); });
    return prompts;
  }
  const std::string value = options.text(source);
  const std::string text = source == "prompt-file" ? read_text_file(value, kLargestPromptFile) : value;
  try {
    prompts.push_back(source == "ids" ? reader.from_option(text) : reader.from_text(text));
  } catch (const Error& error) {
    throw Error("--" + source, error.message(), error.fix());
  }
  return prompts;
}

}  // namespace tp
