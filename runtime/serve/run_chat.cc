#include "runtime/serve/run_chat.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <thread>

#include "runtime/output_file.h"
#include "runtime/run_generate.h"
#include "runtime/serve/openai_request.h"
#include "runtime/serve/shared_source.h"
#include "sharding/error.h"

namespace tp {
namespace {

using Json = nlohmann::ordered_json;
using namespace std::chrono_literals;

constexpr int kPollMs = 100;
constexpr size_t kLongestLine = size_t{64} << 20;

// Lines of standard input, until its end or until nobody wants them any more.
class InputLines {
 public:
  // False at the end.
  bool next(std::string& line, const RequestQueue& queue) {
    for (size_t end; (end = buffer_.find('\n')) == std::string::npos;) {
      pollfd input{STDIN_FILENO, POLLIN, 0};
      if (queue.closed()) return false;
      if (poll(&input, 1, kPollMs) <= 0) continue;
      char part[1 << 16];
      const ssize_t size = read(STDIN_FILENO, part, sizeof(part));
      if (size < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (size <= 0 || buffer_.size() > kLongestLine) return false;
      buffer_.append(part, static_cast<size_t>(size));
    }
    const size_t end = buffer_.find('\n');
    line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    return true;
  }

 private:
  std::string buffer_;
};

// What was said so far, as text and as the ids that went through the model.
struct Spoken {
  std::string text;
  std::vector<int32_t> ids;

  // The ids of a prompt that may go on from here: `encoded`, or better the ids that are in the cache and what comes after them.
  // A tokenizer often cuts what a model wrote in another way than the model did.
  std::vector<int32_t> continued(const std::string& prompt, const std::vector<int32_t>& encoded,
                                 const Tokenizer& tokenizer) const {
    if (text.empty() || !prompt.starts_with(text)) return encoded;
    std::vector<int32_t> joined = ids;
    const std::vector<int32_t> rest = tokenizer.encode(prompt.substr(text.size()), /*add_special=*/false);
    joined.insert(joined.end(), rest.begin(), rest.end());
    return tokenizer.decode(joined, /*skip_special=*/false) == tokenizer.decode(encoded, /*skip_special=*/false) ? joined
                                                                                                                 : encoded;
  }
};

// Reads requests on a thread of its own and answers each on another, so that it can be stopped.
class Conversation {
 public:
  Conversation(const RequestRules& rules, RequestQueue& queue) : rules_(rules), queue_(queue), out_("") {
    send({{"ready", true}});
    reader_ = std::thread([this] { read_requests(); });
  }
  ~Conversation() {
    queue_.close();
    reader_.join();
  }
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

 private:
  // Without a reader the conversation is over.
  void send(const Json& json) try {
    out_.write(json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  } catch (const Error&) {
    queue_.close();
  }

  void read_requests() {
    InputLines lines;
    std::thread answering;
    const auto wait_for_answer = [&] {
      if (answering.joinable()) answering.join();
    };
    for (std::string line; lines.next(line, queue_);) {
      if (Json::parse(line, nullptr, /*allow_exceptions=*/false).contains("stop")) {
        if (answer_) queue_.cancel(answer_);
        continue;
      }
      wait_for_answer();
      if (ask(line)) answering = std::thread([this] { tell(); });
    }
    if (answer_) queue_.cancel(answer_);
    queue_.close();
    wait_for_answer();
  }

  bool ask(const std::string& line) {
    std::string problem = "the conversation is over";
    try {
      request_ = read_openai_request(line, /*chat=*/true, rules_);
      GeneratePrompt& prompt = request_.prompts[0].prompt;
      const auto continued = spoken_.continued(request_.prompts[0].text, prompt.ids, *rules_.tokenizer);
      const int64_t left = rules_.cache_len - static_cast<int64_t>(continued.size());
      if (left >= 1) {
        prompt.ids = continued;
        prompt.max_new_tokens = std::min(prompt.max_new_tokens, left);
      }
      spoken_ = {request_.prompts[0].text, prompt.ids};
      // Each turn draws from a stream of its own.
      prompt.random_stream = ++turn_;
      answer_ = queue_.add(request_.prompts);
      if (answer_) return true;
    } catch (const std::exception& error) {
      problem = error.what();
    }
    send({{"error", problem}});
    return false;
  }

  void tell() {
    const auto begin = std::chrono::steady_clock::now();
    int64_t tokens = 0;
    for (;;) {
      const std::optional<AnswerEvent> event = answer_->next(1s);
      if (!event) continue;  // the queue ends every answer
      if (event->token >= 0) {
        ++tokens;
        spoken_.ids.push_back(event->token);
      }
      spoken_.text += event->text;
      if (!event->text.empty()) send({{"text", event->text}});
      if (!event->finish) continue;
      if (*event->finish == FinishReason::kEos) spoken_.ids.pop_back();  // it is no text
      const bool cut = *event->finish == FinishReason::kLength;
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      send({{"done",
             {{"finish_reason", cut ? "length" : "stop"},
              {"prompt_tokens", request_.prompts[0].prompt.ids.size()},
              {"cached_tokens", event->reused_tokens},
              {"tokens", tokens},
              {"seconds", seconds}}}});
      return;
    }
  }

  const RequestRules& rules_;
  RequestQueue& queue_;
  OutputFile out_;
  OpenAiRequest request_;
  Spoken spoken_;
  std::shared_ptr<Answer> answer_;
  uint64_t turn_ = 0;
  std::thread reader_;
};

}  // namespace

GenerateResult run_chat(const Job& job, const RankModel& model, const std::shared_ptr<const Tokenizer>& tokenizer,
                        Engine& engine, Communicator& communicator, const std::atomic<int>& stop_signal) {
  if (communicator.rank() != 0) {
    SharedSource source(communicator, nullptr);
    return generate(engine, communicator, model.config, source, generate_options(job, nullptr, stop_signal), nullptr);
  }
  const ChatPrompt chat(job.model_dir, job.chat_template, job.system);
  const RequestRules rules{tokenizer,          chat,        job.serve.model_name, model.config.vocab_size,
                           engine.cache_len(), job.options, job.max_new_tokens};
  RequestQueue queue(tokenizer.get(), job.eos_token_ids, /*most_waiting=*/1, /*slots=*/1);
  const Conversation conversation(rules, queue);
  const EndOfQueue end(queue);
  SharedSource source(communicator, &queue);
  return generate(engine, communicator, model.config, source, generate_options(job, tokenizer.get(), stop_signal), &queue);
}

}  // namespace tp
