#include "runtime/serve/openai_request.h"

#include <algorithm>
#include <optional>

#include "runtime/prompt_overrides.h"
#include "sharding/error.h"
#include "sharding/json_document.h"

namespace tp {
namespace {

constexpr int64_t kCompletionTokens = 16;  // OpenAI's default
constexpr int64_t kMostTopLogprobs = 20;   // and bound

// The value of a key that is there and not null.
const Json* find(const Json& object, const char* key) {
  const auto value = object.find(key);
  return value == object.end() || value->is_null() ? nullptr : &*value;
}

bool flag(const Json& object, const char* key) {
  const Json* value = find(object, key);
  if (value == nullptr) return false;
  if (!value->is_boolean()) throw Error("", "`" + std::string(key) + "`: " + value->dump() + " is not true or false");
  return value->get<bool>();
}

std::vector<int32_t> checked_ids(const Json& list, int64_t vocab_size) {
  std::vector<int32_t> ids;
  for (const Json& id : list) {
    if (!id.is_number_integer() || id < 0 || id >= vocab_size)
      throw Error("", "`prompt`: " + id.dump() + " is not a token id, which are 0 to " + std::to_string(vocab_size - 1));
    ids.push_back(id.get<int32_t>());
  }
  return ids;
}

// A content that comes in parts becomes one text, as templates of models for text expect it.
void join_parts(OrderedJson& messages) {
  for (OrderedJson& message : messages) {
    if (!message.is_object() || !message.contains("content") || !message["content"].is_array()) continue;
    std::string text;
    for (const OrderedJson& part : message["content"]) {
      if (!part.is_object() || part.value("type", OrderedJson()) != "text" || !part.contains("text") ||
          !part["text"].is_string())
        throw Error("", "`content`: a part is not a text, and this model takes nothing else");
      text += part["text"].get<std::string>();
    }
    message["content"] = text;
  }
}

std::optional<OrderedJson> object_in(const std::string& text) try {
  if (!parse_json(text, "arguments").is_object()) return std::nullopt;  // bounds the nesting, too
  return OrderedJson::parse(text);
} catch (const Error&) {
  return std::nullopt;
}

// OpenAI's clients send the arguments of a call as the text that a model wrote. Templates write an object as JSON, and a text
// in quotes. What is no JSON object stays a text.
void parse_arguments(OrderedJson& messages) {
  for (OrderedJson& message : messages) {
    if (!message.is_object() || !message.contains("tool_calls") || !message["tool_calls"].is_array()) continue;
    for (OrderedJson& call : message["tool_calls"]) {
      if (!call.is_object() || !call.contains("function") || !call["function"].is_object()) continue;
      const auto arguments = call["function"].find("arguments");
      if (arguments == call["function"].end() || !arguments->is_string()) continue;
      if (auto object = object_in(arguments->get<std::string>())) *arguments = std::move(*object);
    }
  }
}

struct Prompt {
  std::vector<int32_t> ids;
  std::string text;
};

class RequestReader {
 public:
  RequestReader(const Json& body, const std::string& text, bool chat, const RequestRules& rules)
      : body_(body), text_(text), chat_(chat), rules_(rules) {}

  OpenAiRequest read() {
    if (const Json* model = find(body_, "model"); model != nullptr && *model != rules_.model)
      throw Error("model", "the model " + model->dump() + " does not exist; this server has \"" + rules_.model + "\"");
    OpenAiRequest request;
    request.chat = chat_;
    request.stream = flag(body_, "stream");
    if (const Json* stream_options = find(body_, "stream_options"); stream_options != nullptr && stream_options->is_object())
      request.include_usage = flag(*stream_options, "include_usage");
    refuse_what_is_missing();
    const PromptOptions options = prompt_options();
    request.echo = flag(body_, "echo");
    request.samples = sample_count(body_, 1);
    require_drawn(options.sampling, request.samples);
    for (const Prompt& prompt : chat_ ? conversation() : completions()) {
      for (int64_t sample = 0; sample < request.samples; ++sample) request.prompts.push_back(queued(prompt, options, sample));
    }
    return request;
  }

 private:
  // Parameters that would change the answer and that this server cannot follow.
  void refuse_what_is_missing() const {
    if (const Json* best_of = find(body_, "best_of"); best_of != nullptr && *best_of != 1)
      throw Error("", "`best_of` is not supported; use `n`");
    if (const Json* suffix = find(body_, "suffix"); suffix != nullptr && *suffix != "")
      throw Error("", "`suffix` is not supported");
    if (const Json* format = find(body_, "response_format"); format != nullptr && *format != Json{{"type", "text"}})
      throw Error("", "`response_format`: only {\"type\":\"text\"} is supported");
    if (const Json* choice = find(body_, "tool_choice"); choice != nullptr && *choice != "auto" && *choice != "none")
      throw Error("", "`tool_choice`: only \"auto\" and \"none\" are supported");
    if (chat_ && flag(body_, "echo")) throw Error("", "`echo` is for completions");
  }

  PromptOptions prompt_options() const {
    PromptOptions options = rules_.defaults;
    Json overrides = body_;
    overrides.erase("logprobs");
    apply_overrides(overrides, rules_.vocab_size, options);
    if (find(body_, "temperature") != nullptr) options.sampling.do_sample = options.sampling.temperature != 0;
    if (chat_ && flag(body_, "logprobs")) {
      options.top_logprobs = count("top_logprobs", 0, kMostTopLogprobs, 0);
    } else if (!chat_ && find(body_, "logprobs") != nullptr) {
      options.top_logprobs = count("logprobs", 0, kMostTopLogprobs, 0);
    } else {
      options.top_logprobs.reset();
    }
    if (!options.stop.empty() && !rules_.tokenizer) throw Error("", "`stop` needs a tokenizer, and this model has none");
    return options;
  }

  int64_t count(const char* key, int64_t least, int64_t most, int64_t otherwise) const {
    const Json* value = find(body_, key);
    if (value == nullptr) return otherwise;
    if (!value->is_number_integer() || *value < least || *value > most)
      throw Error("", "`" + std::string(key) + "`: " + value->dump() + " is not a whole number from " + std::to_string(least) +
                          " to " + std::to_string(most));
    return value->get<int64_t>();
  }

  Prompt encoded(std::string text, bool add_special) const {
    if (!rules_.tokenizer) throw Error("", "this model has no tokenizer: give the prompt as token ids");
    return {rules_.tokenizer->encode(text, add_special), text};
  }

  std::vector<Prompt> conversation() const {
    const OrderedJson in_order = OrderedJson::parse(text_);  // as templates see it
    const auto ordered = [&](const char* key) { return in_order.contains(key) ? in_order[key] : OrderedJson(); };
    ChatRequest request{ordered("messages"), ordered("tools"), true, ordered("chat_template_kwargs")};
    if (const Json* prompt = find(body_, "add_generation_prompt")) request.add_generation_prompt = *prompt == true;
    join_parts(request.messages);
    parse_arguments(request.messages);
    return {encoded(rules_.chat.text(std::move(request)), false)};
  }

  // A text, a list of texts, a list of ids or a list of such lists.
  std::vector<Prompt> completions() const {
    const Json* value = find(body_, "prompt");
    if (value == nullptr) throw Error("", "`prompt` is missing");
    const bool one = value->is_string() || (value->is_array() && !value->empty() && (*value)[0].is_number());
    std::vector<Prompt> prompts;
    for (const Json& prompt : one ? Json::array({*value}) : *value) {
      if (prompt.is_string()) {
        prompts.push_back(encoded(prompt.get<std::string>(), true));
      } else if (prompt.is_array()) {
        prompts.push_back({checked_ids(prompt, rules_.vocab_size), ""});
        if (rules_.tokenizer) prompts.back().text = rules_.tokenizer->decode(prompts.back().ids, /*skip_special=*/true);
      } else {
        throw Error("", "`prompt` is neither text nor token ids");
      }
    }
    if (prompts.empty()) throw Error("", "`prompt` is empty");
    return prompts;
  }

  QueuedPrompt queued(const Prompt& prompt, const PromptOptions& options, int64_t sample) const {
    const auto tokens = static_cast<int64_t>(prompt.ids.size());
    if (tokens == 0) throw Error("", "the prompt has no token");
    const int64_t left = rules_.cache_len - tokens;
    if (left < 1)
      throw Error("", "the prompt has " + std::to_string(tokens) + " tokens, and the context of this server has " +
                          std::to_string(rules_.cache_len) + " with the answer");
    const int64_t otherwise = rules_.max_new_tokens > 0 ? rules_.max_new_tokens : chat_ ? left : kCompletionTokens;
    const char* key = find(body_, "max_completion_tokens") ? "max_completion_tokens" : "max_tokens";
    QueuedPrompt result;
    result.prompt.ids = prompt.ids;
    result.prompt.max_new_tokens = count(key, 1, INT32_MAX, std::min(otherwise, left));
    if (result.prompt.max_new_tokens > left)
      throw Error("", "the prompt has " + std::to_string(tokens) + " tokens and `" + key + "` is " +
                          std::to_string(result.prompt.max_new_tokens) + ", but the context of this server has " +
                          std::to_string(rules_.cache_len) + " in all");
    result.prompt.sampling = options.sampling;
    result.prompt.random_stream = random_stream(0, sample);
    result.prompt.ignore_eos = options.ignore_eos;
    result.prompt.top_logprobs = options.top_logprobs;
    result.stop = options.stop;
    result.text = prompt.text;
    return result;
  }

  const Json& body_;
  const std::string& text_;
  bool chat_;
  const RequestRules& rules_;
};

}  // namespace

OpenAiRequest read_openai_request(const std::string& body, bool chat, const RequestRules& rules) {
  const Json json = parse_json(body, "body");
  if (!json.is_object()) throw Error("", "the body is not a JSON object");
  return RequestReader(json, body, chat, rules).read();
}

}  // namespace tp
