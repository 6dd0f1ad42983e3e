#include "launcher/prompts.h"

#include <charconv>

#include "launcher/jsonl_file.h"
#include "runtime/prompt_overrides.h"
#include "sharding/error.h"

namespace tp {
namespace {

constexpr int64_t kLargestPromptFile = int64_t{64} << 20;

const std::vector<std::string> kSources = {"prompt", "ids", "messages", "text"};

// The keys of a line: its prompt, what belongs to messages, and what it may override.
const std::vector<std::string>& line_keys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> all = kSources;
    all.insert(all.end(), {"tools", "add_generation_prompt", "chat_template_kwargs"});
    all.insert(all.end(), {"max_new_tokens", "n", "num_return_sequences"});
    all.insert(all.end(), override_keys().begin(), override_keys().end());
    return all;
  }();
  return keys;
}

class PromptReader {
 public:
  PromptReader(const PromptRules& rules, bool texts_are_messages) : rules_(rules), texts_are_messages_(texts_are_messages) {}

  std::vector<JobPrompt> from_text(const std::string& text) const {
    return continuations(text_prompt(text), Json::object(), 0);
  }

  std::vector<JobPrompt> from_option(const std::string& list) const {
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
    return continuations(std::move(prompt), Json::object(), 0);
  }

  // `text`: of the object, which templates see in its own order.
  std::vector<JobPrompt> from_json(const Json& object, const std::string& text, int64_t index) const {
    require_known_keys(object, line_keys());
    std::vector<std::string> sources;
    for (const std::string& key : kSources) {
      if (object.contains(key)) sources.push_back(key);
    }
    if (sources.size() != 1) {
      throw Error("", sources.empty() ? "has none of `prompt`, `messages`, `ids`"
                                      : "has both `" + sources[0] + "` and `" + sources[1] + "`");
    }
    const std::string& source = sources[0];
    if (source == "text" && !rules_.score)
      throw Error("", "`text` is for score and tokenize; a prompt to continue is `prompt`");
    JobPrompt prompt = source == "ids"        ? id_prompt(object[source])
                       : source == "messages" ? message_prompt(object, text)
                                              : text_prompt(text_of(object[source], source));
    if (object.contains("max_new_tokens")) {
      const Json& count = object["max_new_tokens"];
      if (!count.is_number_integer() || count < 1 || count > INT32_MAX)
        throw Error("", "`max_new_tokens`: " + count.dump() + " is not a whole number, 1 or more");
      prompt.max_new_tokens = count.get<int64_t>();
    }
    return continuations(std::move(prompt), object, index);
  }

 private:
  static std::string text_of(const Json& value, const std::string& key) {
    if (!value.is_string()) throw Error("", "`" + key + "` is not a text");
    return value.get<std::string>();
  }

  JobPrompt encoded(const std::string& text, bool add_special) const {
    if (!rules_.tokenizer)
      throw Error("", "a text needs a tokenizer, and the model directory has no tokenizer.json",
                  "--tokenizer DIR|FILE, or ids");
    JobPrompt prompt;
    prompt.text = text;
    prompt.ids = rules_.tokenizer->encode(text, add_special);
    return prompt;
  }

  JobPrompt text_prompt(const std::string& text) const {
    // A template writes the special tokens itself.
    return texts_are_messages_ ? encoded(rules_.chat.text_of_user(text), false) : encoded(text, true);
  }

  JobPrompt message_prompt(const Json& object, const std::string& text) const {
    const OrderedJson in_order = OrderedJson::parse(text);
    const auto ordered = [&](const char* key) { return in_order.contains(key) ? in_order[key] : OrderedJson(); };
    ChatRequest request{ordered("messages"), ordered("tools"), true, ordered("chat_template_kwargs")};
    if (!request.tools.is_null() && !request.tools.is_array()) throw Error("", "`tools` is not a list");
    if (!request.variables.is_null() && !request.variables.is_object())
      throw Error("", "`chat_template_kwargs` is not an object");
    if (object.contains("add_generation_prompt")) {
      if (!object["add_generation_prompt"].is_boolean()) throw Error("", "`add_generation_prompt` is not true or false");
      request.add_generation_prompt = object["add_generation_prompt"].get<bool>();
    }
    return encoded(rules_.chat.text(std::move(request)), false);
  }

  static JobPrompt id_prompt(const Json& value) {
    if (!value.is_array()) throw Error("", "`ids` is not a list");
    JobPrompt prompt;
    for (const Json& id : value) {
      if (!id.is_number_integer() || id < INT32_MIN || id > INT32_MAX)
        throw Error("", "`ids`: " + id.dump() + " is not a token id");
      prompt.ids.push_back(id.get<int32_t>());
    }
    return prompt;
  }

  // The prompt as often as it is to be continued, with what its line overrides.
  std::vector<JobPrompt> continuations(JobPrompt prompt, const Json& line, int64_t index) const {
    check_ids(prompt.ids);
    PromptOptions options = rules_.settings.prompt;
    apply_overrides(line, rules_.vocab_size, options);
    if (!options.stop.empty() && !rules_.tokenizer)
      throw Error("", "`stop` needs a tokenizer, and the model directory has no tokenizer.json", "--tokenizer DIR|FILE");
    const auto& keys = override_keys();
    if (std::any_of(keys.begin(), keys.end(), [&](const std::string& key) { return line.contains(key); }))
      prompt.options = options;
    if (!rules_.score) settle_length(prompt);
    const int64_t samples = rules_.score ? 1 : sample_count(line, rules_.settings.samples);
    require_drawn(options.sampling, samples);
    prompt.index = index;
    std::vector<JobPrompt> prompts;
    for (int64_t sample = 0; sample < samples; ++sample) {
      if (samples > 1) prompt.sample = sample;
      // A seed of its own makes a line independent of its place in the file.
      prompt.random_stream = random_stream(line.contains("seed") ? 0 : index, sample);
      prompts.push_back(prompt);
    }
    return prompts;
  }

  void check_ids(const std::vector<int32_t>& ids) const {
    if (ids.empty()) throw Error("", "has no token", "give at least one");
    for (int32_t id : ids) {
      if (id >= 0 && id < rules_.vocab_size) continue;
      throw Error("", "token id " + std::to_string(id) + " is outside the vocabulary of " + std::to_string(rules_.vocab_size),
                  "ids are 0 to " + std::to_string(rules_.vocab_size - 1));
    }
  }

  void settle_length(JobPrompt& prompt) const {
    const auto tokens = static_cast<int64_t>(prompt.ids.size());
    // max_length bounds prompt and continuation together, so each prompt gets what is left.
    if (const auto most = rules_.settings.max_length; most && !prompt.max_new_tokens) {
      if (tokens >= *most) {
        throw Error(
            "", "has " + std::to_string(tokens) + " tokens, max_length of generation_config.json is " + std::to_string(*most),
            "give --max-new-tokens");
      }
      prompt.max_new_tokens = *most - tokens;
    }
    const int64_t fresh = prompt.max_new_tokens.value_or(rules_.settings.max_new_tokens), need = tokens + fresh;
    if (!rules_.cache_len || need <= *rules_.cache_len) return;
    throw Error("",
                "needs " + std::to_string(need) + " positions (" + std::to_string(tokens) + " tokens + max_new_tokens " +
                    std::to_string(fresh) + "), the cache has " + std::to_string(*rules_.cache_len),
                "--cache-len " + std::to_string(need) + ", or fewer tokens");
  }

  const PromptRules& rules_;
  bool texts_are_messages_;
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

std::vector<JobPrompt> prompts_of_file(const Options& options, const PromptReader& reader) {
  std::vector<JobPrompt> prompts;
  int64_t index = 0;
  const auto take = [&](const Json& object, const std::string& text) {
    std::vector<JobPrompt> read = reader.from_json(object, text, index);
    std::move(read.begin(), read.end(), std::back_inserter(prompts));
    ++index;
  };
  const auto pass_over = [&](const std::string& problem) {
    JobPrompt& prompt = prompts.emplace_back();
    prompt.index = index++;
    prompt.error = problem;
  };
  if (options.flag("skip-bad")) {
    read_jsonl(options.text("input"), take, pass_over);
  } else {
    read_jsonl(options.text("input"), take);
  }
  return prompts;
}

}  // namespace

std::vector<JobPrompt> read_prompts(const Options& options, const PromptRules& rules) {
  const std::string source = prompt_source(options);
  if (options.flag("chat") && source == "ids")
    throw Error("--chat", "is for texts, and the prompt is given as ids", "--prompt TEXT");
  if (!options.flag("chat") && source != "input") {
    for (const char* name : {"system", "chat-template"}) {
      if (options.given(name)) throw Error("--" + std::string(name), "is for messages", "add --chat");
    }
  }
  const PromptReader reader(rules, options.flag("chat"));
  if (source == "input") return prompts_of_file(options, reader);
  const std::string value = options.text(source);
  const std::string text = source == "prompt-file" ? read_text_file(value, kLargestPromptFile) : value;
  try {
    return source == "ids" ? reader.from_option(text) : reader.from_text(text);
  } catch (const Error& error) {
    throw Error("--" + source, error.message(), error.fix());
  }
}

}  // namespace tp
