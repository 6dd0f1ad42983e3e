#include "runtime/generate_output.h"

#include <algorithm>
#include <nlohmann/json.hpp>

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
    case FinishReason::kLength:
      break;
  }
  return "length";
}

// Text of the continuation as far as it is whole, watched for stop strings, which may begin in one token and end in another.
class StopWatch {
 public:
  StopWatch(const Tokenizer* tokenizer, const std::vector<std::string>& stop) : stop_(stop) {
    if (tokenizer != nullptr && !stop.empty()) decoder_ = tokenizer->stream(/*skip_special=*/true);
    for (const std::string& text : stop) longest_ = std::max(longest_, text.size());
  }

  bool found_after(int32_t id) {
    if (!decoder_) return false;
    tail_ += decoder_->push(id);
    const bool found =
        std::any_of(stop_.begin(), stop_.end(), [&](const std::string& text) { return tail_.find(text) != std::string::npos; });
    if (tail_.size() > longest_) tail_.erase(0, tail_.size() - longest_);
    return found;
  }

 private:
  const std::vector<std::string>& stop_;
  size_t longest_ = 0;
  std::unique_ptr<StreamDecoder> decoder_;
  std::string tail_;
};

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
    row.stop = std::make_unique<StopWatch>(tokenizer_, job_.stop);
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
      : job_(job),
        tokenizer_(tokenizer),
        out_(file, job.prompts.size()),
        ids_(job.prompts.size()),
        stops_(job.prompts.size()) {}

  bool token(size_t index, int32_t id) override {
    ids_[index].push_back(id);
    if (!stops_[index]) stops_[index] = std::make_unique<StopWatch>(tokenizer_, job_.stop);
    return stops_[index]->found_after(id);
  }

  void finished(size_t index, FinishReason reason) override {
    if (reason == FinishReason::kInterrupted) return;
    Json line;
    line["index"] = index;
    line["prompt_ids"] = job_.prompts[index].ids;
    line["ids"] = ids_[index];
    line["text"] = text(index, reason);
    line["finish_reason"] = reason_name(reason);
    out_.write(index, line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
    out_.finish(index);
    ids_[index].clear();
    stops_[index].reset();
  }

 private:
  // The eos token that ended a continuation belongs to its ids and not to its text.
  Json text(size_t index, FinishReason reason) const {
    if (tokenizer_ == nullptr) return nullptr;
    std::vector<int32_t> ids = ids_[index];
    if (reason == FinishReason::kEos) ids.pop_back();
    return tokenizer_->decode(ids, /*skip_special=*/true);
  }

  const Job& job_;
  const Tokenizer* tokenizer_;
  InOrder out_;
  std::vector<std::vector<int32_t>> ids_;
  std::vector<std::unique_ptr<StopWatch>> stops_;
};

}  // namespace

std::unique_ptr<TokenSink> make_generate_output(const Job& job, const Tokenizer* tokenizer, OutputFile& file) {
  if (job.format == "json") return std::make_unique<JsonOutput>(job, tokenizer, file);
  return std::make_unique<TextOutput>(job, tokenizer, file);
}

}  // namespace tp
