#include "launcher/chat_terminal.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "launcher/background_job.h"
#include "launcher/interrupts.h"
#include "launcher/line_editor.h"

namespace tp {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kHelp =
    "/reset         forget the conversation\n"
    "/system TEXT   start again with this system message; without TEXT, without one\n"
    "/exit          end (also Ctrl-D)\n"
    "Ctrl-C stops an answer. A line that ends in \\ goes on in the next one; lines between two lines of \"\"\" are one "
    "message.\n";

class ChatTerminal {
 public:
  ChatTerminal(const Options& options, BackgroundJob& job) : quiet_(options.flag("quiet")), job_(job) {
    system_ = options.text("system");
    reset();
  }

  void talk() {
    if (editor_.on_terminal() && !quiet_) std::fprintf(stderr, "tprun: /help lists the commands\n");
    while (!job_.ended()) {
      const std::optional<std::string> message = editor_.message();
      if (!message || *message == "/exit" || *message == "/quit") return;
      if (message->starts_with('/')) {
        obey(*message);
      } else if (message->find_first_not_of(" \t\n") != std::string::npos) {
        ask(*message);
      }
    }
  }

 private:
  void reset() {
    messages_ = Json::array();
    if (!system_.empty()) messages_.push_back({{"role", "system"}, {"content", system_}});
  }

  void obey(const std::string& line) {
    const size_t space = line.find(' ');
    const std::string command = line.substr(0, space);
    if (command == "/reset") {
      reset();
    } else if (command == "/system") {
      system_ = space == std::string::npos ? "" : line.substr(space + 1);
      reset();
    } else {
      if (command != "/help") std::fprintf(stderr, "tprun: there is no command %s\n", command.c_str());
      std::fputs(kHelp, stderr);
    }
  }

  void ask(const std::string& message) {
    messages_.push_back({{"role", "user"}, {"content", message}});
    job_.send(Json{{"messages", messages_}}.dump(-1, ' ', false, Json::error_handler_t::replace));
    std::string text;
    for (;;) {
      const std::optional<std::string> line = job_.line([] { return take_interrupt(); });
      if (!line && job_.ended()) return;
      if (!line) {
        job_.send(Json{{"stop", true}}.dump());
        continue;
      }
      const Json event = Json::parse(*line, nullptr, /*allow_exceptions=*/false);
      if (event.contains("text")) {
        print(event["text"].get<std::string>());
        text += event["text"].get<std::string>();
      } else if (event.contains("error")) {
        std::fprintf(stderr, "tprun: %s\n", event["error"].get<std::string>().c_str());
        messages_.erase(messages_.size() - 1);
        return;
      } else if (event.contains("done")) {
        print("\n");
        messages_.push_back({{"role", "assistant"}, {"content", text}});
        tell(event["done"]);
        return;
      }
    }
  }

  static void print(const std::string& text) {
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
  }

  void tell(const Json& done) const {
    if (!editor_.on_terminal() || quiet_) return;
    const auto tokens = done["tokens"].get<long long>(), prompt = done["prompt_tokens"].get<long long>();
    const double seconds = done["seconds"].get<double>();
    std::fprintf(stderr, "[%lld tokens, %.1f tokens/s; %lld of %lld prompt tokens were new]\n", tokens,
                 seconds > 0 ? static_cast<double>(tokens) / seconds : 0.0, prompt - done["cached_tokens"].get<long long>(),
                 prompt);
  }

  bool quiet_;
  BackgroundJob& job_;
  LineEditor editor_;
  std::string system_;
  Json messages_;
};

}  // namespace

int chat_in_terminal(const Options& options, const std::string& job_line, const std::function<int()>& run) {
  BackgroundJob job(run);
  note_interrupts();
  job.send(job_line);
  // The first line says that the model is loaded; Ctrl-C until then ends it all.
  if (job.line([] { return take_interrupt(); })) {
    ChatTerminal(options, job).talk();
  } else if (!job.ended()) {
    job.stop();
  }
  return job.wait();
}

}  // namespace tp
