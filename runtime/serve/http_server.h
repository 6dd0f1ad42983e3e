#pragma once

#include <memory>
#include <string>
#include <thread>

#include "runtime/serve/openai_request.h"
#include "runtime/serve/request_queue.h"
#include "runtime/serve/serve_options.h"
#include "runtime/serve/slow_clients.h"

namespace httplib {
class Server;
}

namespace tp {

// The HTTP side of `tprun serve`, on threads of its own:
//   POST /v1/completions, /v1/chat/completions   OpenAI's, also streamed (server-sent events)
//   GET  /v1/models, /v1/models/NAME
//   GET  /health                                 {"status","model","tp_size","device","slots","context"}
//   GET  /metrics                                Prometheus
//   GET  /                                       a page to try prompts
// Refusals are OpenAI's error object: 400 a bad request, 401 no or a wrong key (of /v1/… alone), 404, 413 a body that is too
// large, 429 too many wait, 503 the server is ending, 504 a request that did not begin in time. An answer that is not ready in
// time ends with finish_reason "timeout". When the client goes, its request is cancelled; when its request does not arrive in
// time, its connection ends.
class HttpServer {
 public:
  struct Facts {
    int tp_size = 1;
    std::string device;
    int64_t slots = 1;
  };
  // The arguments must outlive it. Throws Error when the address cannot be listened on.
  HttpServer(const ServeOptions& options, const RequestRules& rules, const Facts& facts, RequestQueue& queue);
  // Accepts nothing more and returns when the last answer is sent.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const { return port_; }

 private:
  SlowClients slow_clients_;
  std::unique_ptr<httplib::Server> server_;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace tp
