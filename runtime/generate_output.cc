#include "runtime/generate_output.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/stop_text.h"

namespace tp {
namespace {

using Json = nlohmann::ordered_json;

std::string_view reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kEos:
      return "eos";
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kInterrupted:
      return "interrupted";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kLength:
      break;
  }
  return "length";
}

// Looks for a prompt's stop texts in the text of its continuation.
class StopWatch {
 public:
  StopWatch(const Tokenizer* tokenizer, const std::vector<std::string>& stop) : text_(stop) {
    if (tokenizer != nullptr && !stop.empty()) decoder_ = tokenizer->stream(/*skip_special=*/true);
  }

  bool found_after(int32_t id) {
    if (decoder_) text_.push(decoder_->push(id));
    return text_.found();
  }

 private:
  StopText text_;
  std::unique_ptr<StreamDecoder> decoder_;
};

const std::vector<std::string>& stops_of(const Job& job, size_t index) {
  const std::optional<PromptOptions>& own = job.prompts[index].options;
  return own ? own->stop : job.options.stop;
}

// Gives out what belongs to prompt `index` at once while it is the first that is not finished, else keeps it for its turn.
class InOrder {
 public:
  InOrder(OutputFile& file, size_t prompts) : file_(file), waiting_(prompts), finished_(prompts) {}

  void write(size_t index, std::string_view text) {
    if (index == next_) {
      file_.write(text);
    } else {
      waiting_[index] += text;
    }
  }

  void finish(size_t index) {
    finished_[index] = true;
    while (next_ < finished_.size() && finished_[next_]) {
      ++next_;
      if (next_ < waiting_.size() && !waiting_[next_].empty()) file_.write(std::exchange(waiting_[next_], ""));
    }
  }

 private:
  OutputFile& file_;
  std::vector<std::string> waiting_;
  std::vector<bool> finished_;
  size_t next_ = 0;
};

// Prompt and continuation as decode(ids, skip_special) gives them, or the ids, as they come; then a new line.
class TextOutput : public TokenSink {
 public:
  TextOutput(const Job& job, const Tokenizer* tokenizer, OutputFile& file)
      : job_(job), tokenizer_(tokenizer), out_(file, job.prompts.size()), rows_(job.prompts.size()) {}

  bool token(size_t index, int32_t id) override {
    Row& row = started(index);
    put(index, row, id);
    return row.stop->found_after(id);
  }

  void finished(size_t index, FinishReason reason) override {
    if (reason == FinishReason::kInterrupted) return;  // what is written stays the beginning of the whole output
    Row& row = started(index);
    out_.write(index, (row.decoder ? row.decoder->finish() : "") + "\n");
    out_.finish(index);
    row = {};
  }

 private:
  struct Row {
    std::unique_ptr<StreamDecoder> decoder;
    std::unique_ptr<StopWatch> stop;
    bool any = false;  // an id was printed
  };

  Row& started(size_t index) {
    Row& row = rows_[index];
    if (row.stop) return row;
    row.stop = std::make_unique<StopWatch>(tokenizer_, stops_of(job_, index));
    if (tokenizer_ != nullptr) row.decoder = tokenizer_->stream(/*skip_special=*/true);
    if (job_.echo)
      for (int32_t id : job_.prompts[index].ids) put(index, row, id);
    return row;
  }

  void put(size_t index, Row& row, int32_t id) {
    if (row.decoder) {
      const std::string piece = row.decoder->push(id);
      if (!piece.empty()) out_.write(index, piece);
      return;
    }
    out_.write(index, (row.any ? "," : "") + std::to_string(id));
    row.any = true;
  }

  const Job& job_;
  const Tokenizer* tokenizer_;
  InOrder out_;
  std::vector<Row> rows_;
};

// One line of JSON per finished prompt. A prompt that was interrupted has no line: it was not done.
class JsonOutput : public TokenSink {
 public:
  JsonOutput(const Job& job, const Tokenizer* tokenizer, OutputFile& file)
      : job_(job), tokenizer_(tokenizer), out_(file, job.prompts.size()), rows_(job.prompts.size()) {}

  void logprobs(size_t index, const TokenLogprobs& logprobs) override {
    Row& row = rows_[index];
    row.logprobs.push_back(logprobs.chosen);
    if (logprobs.top.empty()) return;
    Json& top = row.top_logprobs.emplace_back(Json::array());
    for (const auto& [id, logprob] : logprobs.top) top.push_back({{"id", id}, {"logprob", logprob}});
  }

  bool token(size_t index, int32_t id) override {
    Row& row = rows_[index];
    row.ids.push_back(id);
    if (!row.stop) row.stop = std::make_unique<StopWatch>(tokenizer_, stops_of(job_, index));
    return row.stop->found_after(id);
  }

  void finished(size_t index, FinishReason reason) override {
    if (reason == FinishReason::kInterrupted) return;
    out_.write(index, line(index, reason).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
    out_.finish(index);
    rows_[index] = {};
  }

 private:
  struct Row {
    std::vector<int32_t> ids;
    std::vector<float> logprobs;
    std::vector<Json> top_logprobs;
    std::unique_ptr<StopWatch> stop;
  };

  Json line(size_t index, FinishReason reason) const {
    const JobPrompt& prompt = job_.prompts[index];
    const Row& row = rows_[index];
    Json line{{"index", prompt.index}};
    if (!prompt.error.empty()) {
      line["error"] = prompt.error;
      return line;
    }
    if (prompt.sample) line["sample"] = *prompt.sample;
    line["prompt_ids"] = prompt.ids;
    line["ids"] = row.ids;
    line["text"] = text(row.ids, reason);
    line["finish_reason"] = reason_name(reason);
    const PromptOptions& options = prompt.options ? *prompt.options : job_.options;
    if (options.top_logprobs) line["logprobs"] = row.logprobs;
    if (options.top_logprobs.value_or(0) > 0) line["top_logprobs"] = row.top_logprobs;
    return line;
  }

  // The eos token that ended a continuation belongs to its ids and not to its text.
  Json text(std::vector<int32_t> ids, FinishReason reason) const {
    if (tokenizer_ == nullptr) return nullptr;
    if (reason == FinishReason::kEos) ids.pop_back();
    return tokenizer_->decode(ids, /*skip_special=*/true);
  }

  const Job& job_;
  const Tokenizer* tokenizer_;
  InOrder out_;
  std::vector<Row> rows_;
};

}  // namespace

std::unique_ptr<TokenSink> make_generate_output(const Job& job, const Tokenizer* tokenizer, OutputFile& file) {
  if (job.format == "json") return std::make_unique<JsonOutput>(job, tokenizer, file);
  return std::make_unique<TextOutput>(job, tokenizer, file);
}

}  // namespace tp
