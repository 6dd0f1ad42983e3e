#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/serve/answer.h"
#include "runtime/serve/openai_request.h"

namespace tp {

// Makes the JSON of an answer from its events, whole or in chunks, in OpenAI's form.
class OpenAiAnswer {
 public:
  // `tokenizer` may be null; the arguments must outlive it.
  OpenAiAnswer(const OpenAiRequest& request, std::string model, const Tokenizer* tokenizer);

  // Takes the next event in; gives the chunks to send for it, which are empty without `stream`.
  std::vector<std::string> take(const AnswerEvent& event);
  // Ends what has not ended, with the reason "timeout"; gives the chunks to send.
  std::vector<std::string> time_out();
  // All choices have ended.
  bool done() const { return ended_ == choices_.size(); }
  // The whole answer, or with `stream` the last chunk: the usage, empty unless asked for.
  std::string finish() const;

 private:
  using Json = nlohmann::ordered_json;
  struct Choice {
    std::string text;
    std::string finish_reason;
    Json logprobs;  // null, or the form of completions or of conversations
    bool begun = false;
  };

  const std::string& echo(size_t choice) const;
  Json head(bool chunk) const;
  Json chunk(size_t choice, const std::string& text, const Json& logprobs, const Json& finish_reason);
  Json usage() const;
  Json token_logprobs(int32_t id, const TokenLogprobs& logprobs) const;
  std::string piece(int32_t id) const;
  void append_logprobs(Json& to, const Json& more) const;

  const OpenAiRequest& request_;
  std::string model_, id_;
  int64_t created_;
  const Tokenizer* tokenizer_;
  std::vector<Choice> choices_;
  size_t ended_ = 0;
  int64_t completion_tokens_ = 0, reused_tokens_ = 0;
};

}  // namespace tp
