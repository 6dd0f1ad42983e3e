#include "runtime/serve/openai_answer.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <random>

namespace tp {
namespace {

std::string fresh_id(bool chat) {
  static const uint64_t server = std::random_device{}();
  static std::atomic<uint64_t> next{0};
  char text[64];
  std::snprintf(text, sizeof(text), "%s-%08llx%06llu", chat ? "chatcmpl" : "cmpl",
                static_cast<unsigned long long>(server & 0xffffffffU), static_cast<unsigned long long>(++next));
  return text;
}

// OpenAI has one word for both of the ends that the model or the request chose.
std::string reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kEos:
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kInterrupted:
    case FinishReason::kCancelled:
      break;
  }
  return "cancelled";
}

}  // namespace

OpenAiAnswer::OpenAiAnswer(const OpenAiRequest& request, std::string model, const Tokenizer* tokenizer)
    : request_(request),
      model_(std::move(model)),
      id_(fresh_id(request.chat)),
      created_(std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count()),
      tokenizer_(tokenizer),
      choices_(request.prompts.size()) {
  for (size_t i = 0; i < choices_.size(); ++i) choices_[i].text = echo(i);
}

const std::string& OpenAiAnswer::echo(size_t choice) const {
  static const std::string none;
  return request_.echo ? request_.prompts[choice].text : none;
}

OpenAiAnswer::Json OpenAiAnswer::head(bool chunk) const {
  const char* object = request_.chat ? (chunk ? "chat.completion.chunk" : "chat.completion") : "text_completion";
  return {{"id", id_}, {"object", object}, {"created", created_}, {"model", model_}};
}

OpenAiAnswer::Json OpenAiAnswer::usage() const {
  int64_t prompt_tokens = 0;
  for (size_t i = 0; i < choices_.size(); i += static_cast<size_t>(request_.samples))
    prompt_tokens += static_cast<int64_t>(request_.prompts[i].prompt.ids.size());
  return {{"prompt_tokens", prompt_tokens},
          {"completion_tokens", completion_tokens_},
          {"total_tokens", prompt_tokens + completion_tokens_},
          {"prompt_tokens_details", {{"cached_tokens", std::min(reused_tokens_, prompt_tokens)}}}};
}

std::string OpenAiAnswer::piece(int32_t id) const {
  return tokenizer_ == nullptr ? std::to_string(id) : tokenizer_->decode({id}, /*skip_special=*/false);
}

// One token's, in the form of conversations or of completions.
OpenAiAnswer::Json OpenAiAnswer::token_logprobs(int32_t id, const TokenLogprobs& logprobs) const {
  const auto entry = [&](int32_t token, float logprob) {
    const std::string text = piece(token);
    return Json{{"token", text}, {"logprob", logprob}, {"bytes", std::vector<uint8_t>(text.begin(), text.end())}};
  };
  if (request_.chat) {
    Json one = entry(id, logprobs.chosen);
    one["top_logprobs"] = Json::array();
    for (const auto& [token, logprob] : logprobs.top) one["top_logprobs"].push_back(entry(token, logprob));
    return {{"content", Json::array({one})}};
  }
  Json top = Json::object();
  for (const auto& [token, logprob] : logprobs.top) top[piece(token)] = logprob;
  return {{"tokens", Json::array({piece(id)})},
          {"token_logprobs", Json::array({logprobs.chosen})},
          {"top_logprobs", Json::array({logprobs.top.empty() ? Json(nullptr) : top})}};
}

void OpenAiAnswer::append_logprobs(Json& to, const Json& more) const {
  if (to.is_null()) to = Json::object();
  for (const auto& [key, list] : more.items()) {
    if (!to.contains(key)) to[key] = Json::array();
    to[key].insert(to[key].end(), list.begin(), list.end());
  }
}

OpenAiAnswer::Json OpenAiAnswer::chunk(size_t choice, const std::string& text, const Json& logprobs,
                                       const Json& finish_reason) {
  Json part{{"index", choice}};
  if (request_.chat) {
    Json delta = Json::object();
    if (!choices_[choice].begun) delta["role"] = "assistant";
    if (!text.empty() || !choices_[choice].begun) delta["content"] = text;
    part["delta"] = delta;
  } else {
    part["text"] = (choices_[choice].begun ? "" : echo(choice)) + text;
  }
  choices_[choice].begun = true;
  part["logprobs"] = logprobs;
  part["finish_reason"] = finish_reason;
  Json json = head(true);
  json["choices"] = Json::array({part});
  if (request_.include_usage) json["usage"] = nullptr;
  return json;
}

std::vector<std::string> OpenAiAnswer::take(const AnswerEvent& event) {
  Choice& choice = choices_.at(event.choice);
  choice.text += event.text;
  Json logprobs;
  if (event.token >= 0) ++completion_tokens_;
  if (event.logprobs && event.token >= 0) {
    logprobs = token_logprobs(event.token, *event.logprobs);
    append_logprobs(choice.logprobs, logprobs);
  }
  Json reason;
  if (event.finish) {
    choice.finish_reason = reason_name(*event.finish);
    reason = choice.finish_reason;
    ++ended_;
    reused_tokens_ += event.reused_tokens;
  }
  std::vector<std::string> chunks;
  if (request_.stream && (!event.text.empty() || event.finish || !logprobs.is_null()))
    chunks.push_back(chunk(event.choice, event.text, logprobs, reason).dump(-1, ' ', false, Json::error_handler_t::replace));
  return chunks;
}

std::vector<std::string> OpenAiAnswer::time_out() {
  std::vector<std::string> chunks;
  for (size_t i = 0; i < choices_.size(); ++i) {
    if (!choices_[i].finish_reason.empty()) continue;
    choices_[i].finish_reason = "timeout";
    ++ended_;
    if (request_.stream) chunks.push_back(chunk(i, "", Json(), "timeout").dump());
  }
  return chunks;
}

std::string OpenAiAnswer::finish() const {
  Json json = head(request_.stream);
  json["choices"] = Json::array();
  if (request_.stream) {
    if (!request_.include_usage) return "";
  } else {
    for (size_t i = 0; i < choices_.size(); ++i) {
      const Choice& choice = choices_[i];
      Json part{{"index", i}};
      if (request_.chat) {
        part["message"] = {{"role", "assistant"}, {"content", choice.text}};
      } else {
        part["text"] = choice.text;
      }
      part["logprobs"] = choice.logprobs;
      part["finish_reason"] = choice.finish_reason;
      json["choices"].push_back(part);
    }
  }
  json["usage"] = usage();
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tp
