#include "runtime/serve/http_server.h"

#include <httplib.h>

#include <algorithm>
#include <cmath>

#include "runtime/serve/client_socket.h"
#include "runtime/serve/openai_answer.h"
#include "runtime/serve/page.h"
#include "sharding/error.h"

namespace tp {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;
using namespace std::chrono_literals;

constexpr auto kLookAtClient = 200ms;  // how often a thread that waits for tokens looks whether the client is still there
constexpr int kSocketTimeoutS = 30;    // for one byte of a client that neither reads nor writes
constexpr int kIdleConnectionS = 5;
constexpr int64_t kThreadsBeside = 32;  // for connections that wait for nothing: health, metrics, the page
constexpr const char* kJson = "application/json";

std::string error_json(const std::string& message, const char* type, const char* code = nullptr) {
  const Json error{{"message", message}, {"type", type}, {"param", nullptr}, {"code", code ? Json(code) : Json(nullptr)}};
  return Json{{"error", error}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void refuse(httplib::Response& response, int status, const std::string& message, const char* type, const char* code = nullptr) {
  response.status = status;
  response.set_content(error_json(message, type, code), kJson);
}

// Takes the same time wherever the first difference is.
bool same_text(const std::string& a, const std::string& b) {
  unsigned char difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

// One request from its body to the end of its answer.
class Exchange {
 public:
  Exchange(const ServeOptions& options, const RequestRules& rules, RequestQueue& queue, OpenAiRequest request)
      : queue_(queue),
        request_(std::move(request)),
        answer_(request_, options.model_name, rules.tokenizer.get()),
        deadline_(Clock::now() +
                  std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.request_timeout_s))) {}
  ~Exchange() {
    if (events_ && !answer_.done()) queue_.cancel(events_);
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  bool stream() const { return request_.stream; }
  bool queued() {
    events_ = queue_.add(request_.prompts);
    return events_ != nullptr;
  }

  // Waits until the answer begins, so that a request that does not is refused with a status. False: not in time, or the client
  // has gone.
  bool begins(const ClientSocket& client) {
    while (!first_ && Clock::now() < deadline_ && !client.closed()) first_ = events_->next(kLookAtClient);
    return first_.has_value();
  }

  // Sends the whole answer. False: the client is gone.
  bool send(httplib::DataSink& sink) {
    Clock::time_point look = Clock::now();
    while (!answer_.done()) {
      std::optional<AnswerEvent> event = std::exchange(first_, std::nullopt);
      if (!event) event = events_->next(kLookAtClient);
      const Clock::time_point now = Clock::now();
      if (now >= deadline_) return send_late(sink);
      if (now >= look) {
        if (!sink.is_writable()) return false;
        look = now + kLookAtClient;
      }
      if (!event) continue;
      for (const std::string& chunk : answer_.take(*event)) {
        if (!send_event(sink, chunk)) return false;
      }
    }
    return send_end(sink);
  }

 private:
  static bool write(httplib::DataSink& sink, const std::string& text) { return sink.write(text.data(), text.size()); }
  static bool send_event(httplib::DataSink& sink, const std::string& json) { return write(sink, "data: " + json + "\n\n"); }

  bool send_end(httplib::DataSink& sink) {
    const std::string last = answer_.finish();
    bool sent = true;
    if (request_.stream) {
      sent = (last.empty() || send_event(sink, last)) && write(sink, "data: [DONE]\n\n");
    } else {
      sent = write(sink, last);
    }
    sink.done();
    return sent;
  }

  bool send_late(httplib::DataSink& sink) {
    for (const std::string& chunk : answer_.time_out()) {
      if (!send_event(sink, chunk)) return false;
    }
    queue_.cancel(events_);
    return send_end(sink);
  }

  RequestQueue& queue_;
  const OpenAiRequest request_;
  OpenAiAnswer answer_;
  Clock::time_point deadline_;
  std::shared_ptr<Answer> events_;
  std::optional<AnswerEvent> first_;
};

class Routes {
 public:
  Routes(const ServeOptions& options, const RequestRules& rules, HttpServer::Facts facts, RequestQueue& queue,
         SlowClients& slow_clients)
      : options_(options), rules_(rules), facts_(std::move(facts)), queue_(queue), slow_clients_(slow_clients) {}

  // Comes when the header is read. False: the request is refused.
  bool begin(const httplib::Request& request, httplib::Response& response) const {
    slow_clients_.header_came({request.remote_addr, request.remote_port});
    return request.method == "POST" || admitted(request, response);
  }

  // The key, and whether the server still takes requests. A request that has a body is asked when that is read: what is left of
  // it would be taken for the next request.
  bool admitted(const httplib::Request& request, httplib::Response& response) const {
    if (!request.path.starts_with("/v1/")) return true;
    if (!options_.api_key.empty() && !same_text(request.get_header_value("Authorization"), "Bearer " + options_.api_key)) {
      refuse(response, 401, "this server wants an API key (Authorization: Bearer KEY)", "authentication_error",
             "invalid_api_key");
      return false;
    }
    if (!queue_.closed()) return true;
    refuse(response, 503, "the server is ending", "server_error");
    return false;
  }

  void answer(const httplib::Request& request, httplib::Response& response, bool chat) const try {
    if (!admitted(request, response)) return;
    const std::shared_ptr<void> whole = slow_clients_.answering({request.remote_addr, request.remote_port});
    OpenAiRequest asked = read_openai_request(request.body, chat, rules_);
    if (asked.prompts.size() > queue_.most()) {
      throw Error("", std::to_string(asked.prompts.size()) +
                          " continuations are more than this server takes at once, which are " + std::to_string(queue_.most()));
    }
    auto exchange = std::make_shared<Exchange>(options_, rules_, queue_, std::move(asked));
    if (!exchange->queued()) {
      if (queue_.closed()) return refuse(response, 503, "the server is ending", "server_error");
      response.set_header("Retry-After", "1");
      return refuse(response, 429, "too many requests wait for this server", "rate_limit_error", "rate_limit_exceeded");
    }
    if (!exchange->begins(ClientSocket(request.remote_addr, request.remote_port)))
      return refuse(response, 504, "the request did not begin in time", "server_error", "timeout");
    response.set_header("Cache-Control", "no-cache");
    response.set_chunked_content_provider(exchange->stream() ? "text/event-stream" : kJson,
                                          [exchange, whole](size_t, httplib::DataSink& sink) { return exchange->send(sink); });
  } catch (const Error& error) {
    const bool other_model = error.where() == "model";
    const std::string where = error.where().empty() || other_model ? "" : error.where() + ": ";
    refuse(response, other_model ? 404 : 400, where + error.message(), "invalid_request_error",
           other_model ? "model_not_found" : nullptr);
  }

  void models(httplib::Response& response) const {
    response.set_content(Json{{"object", "list"}, {"data", Json::array({model()})}}.dump(), kJson);
  }

  void model(const httplib::Request& request, httplib::Response& response) const {
    if (request.matches[1] != options_.model_name)
      return refuse(response, 404, "the model \"" + request.matches[1].str() + "\" does not exist", "invalid_request_error",
                    "model_not_found");
    response.set_content(model().dump(), kJson);
  }

  void health(httplib::Response& response) const {
    response.set_content(Json{{"status", queue_.closed() ? "ending" : "ok"},
                              {"model", options_.model_name},
                              {"tp_size", facts_.tp_size},
                              {"device", facts_.device},
                              {"slots", facts_.slots},
                              {"context", rules_.cache_len}}
                             .dump(),
                         kJson);
  }

  void metrics(httplib::Response& response) const {
    response.set_content(prometheus_text(queue_.counts(), facts_.tp_size), "text/plain; version=0.0.4");
  }

 private:
  Json model() const { return {{"id", options_.model_name}, {"object", "model"}, {"created", 0}, {"owned_by", "tprun"}}; }

  const ServeOptions& options_;
  const RequestRules& rules_;
  HttpServer::Facts facts_;
  RequestQueue& queue_;
  SlowClients& slow_clients_;
};

void bound(httplib::Server& server, const ServeOptions& options, int64_t slots) {
  server.set_read_timeout(kSocketTimeoutS);
  server.set_write_timeout(kSocketTimeoutS);
  server.set_keep_alive_timeout(kIdleConnectionS);
  server.set_keep_alive_max_count(1'000'000);
  server.set_tcp_nodelay(true);
  server.set_payload_max_length(static_cast<size_t>(options.request_bytes));
  // Each request that waits holds a thread.
  const auto threads = static_cast<size_t>(options.most_waiting + slots + kThreadsBeside);
  server.new_task_queue = [threads] { return new httplib::ThreadPool(threads); };
}

// What the library refuses by itself has no body.
void add_error_body(httplib::Response& response) {
  if (!response.body.empty()) return;
  const char* what = response.status == 404   ? "there is nothing here"
                     : response.status == 413 ? "the request is too large"
                                              : "the request cannot be answered";
  response.set_content(error_json(what, "invalid_request_error"), kJson);
}

void add_routes(httplib::Server& server, const std::shared_ptr<const Routes>& routes) {
  using Request = httplib::Request;
  using Response = httplib::Response;
  server.set_pre_routing_handler([routes](const Request& request, Response& response) {
    return routes->begin(request, response) ? httplib::Server::HandlerResponse::Unhandled
                                            : httplib::Server::HandlerResponse::Handled;
  });
  server.set_error_handler([](const Request&, Response& response) { add_error_body(response); });
  server.Post("/v1/completions",
              [routes](const Request& request, Response& response) { routes->answer(request, response, false); });
  server.Post("/v1/chat/completions",
              [routes](const Request& request, Response& response) { routes->answer(request, response, true); });
  server.Get("/v1/models", [routes](const Request&, Response& response) { routes->models(response); });
  server.Get("/v1/models/(.+)", [routes](const Request& request, Response& response) { routes->model(request, response); });
  server.Get("/health", [routes](const Request&, Response& response) { routes->health(response); });
  server.Get("/metrics", [routes](const Request&, Response& response) { routes->metrics(response); });
  server.Get("/", [](const Request&, Response& response) { response.set_content(kServePage, "text/html; charset=utf-8"); });
}

}  // namespace

HttpServer::HttpServer(const ServeOptions& options, const RequestRules& rules, const Facts& facts, RequestQueue& queue)
    : slow_clients_(std::chrono::milliseconds(std::llround(options.arrival_timeout_s * 1000))),
      server_(std::make_unique<httplib::Server>()) {
  bound(*server_, options, facts.slots);
  add_routes(*server_, std::make_shared<Routes>(options, rules, facts, queue, slow_clients_));
  port_ = static_cast<int>(options.port);
  if (options.port == 0) port_ = server_->bind_to_any_port(options.bind);
  if (port_ < 0 || (options.port != 0 && !server_->bind_to_port(options.bind, port_)))
    throw Error("--port", options.bind + " port " + std::to_string(options.port) + " cannot be listened on",
                "another --port or --bind; 0 is any port that is free");
  slow_clients_.start(port_);
  thread_ = std::thread([this] { server_->listen_after_bind(); });
  // A server that does not run yet cannot be stopped.
  for (const auto end = Clock::now() + 10s; !server_->is_running() && Clock::now() < end;) std::this_thread::sleep_for(1ms);
}

HttpServer::~HttpServer() {
  server_->stop();
  thread_.join();
}

}  // namespace tp
