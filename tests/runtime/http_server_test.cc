#include "runtime/serve/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "runtime/serve/request_queue.h"

namespace tp {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// A client of an HttpServer on this host.
class RawClient {
 public:
  RawClient(int port, const std::string& body) : RawClient(port) {
    send_text("POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  explicit RawClient(int port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  ~RawClient() { close(socket_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  // False: the connection has ended.
  bool send_text(const std::string& text) const {
    return send(socket_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }

  // The answer, up to the end of its error object.
  std::string refusal() {
    std::string text;
    char buffer[256];
    for (ssize_t got = 1; !text.ends_with("}}") && got > 0;) {
      got = recv(socket_, buffer, sizeof buffer, 0);
      text.append(buffer, static_cast<size_t>(std::max<ssize_t>(got, 0)));
    }
    return text;
  }

 private:
  int socket_;
};

class ServerWithoutModel : public testing::Test {
 protected:
  ServerWithoutModel() {
    options_.port = 0;
    options_.model_name = "tiny";
    options_.request_bytes = 1 << 20;
    options_.request_timeout_s = 600;
    restart();
  }
  ~ServerWithoutModel() override { queue_.end_all(); }

  void restart() {
    server_.reset();
    server_ = std::make_unique<HttpServer>(options_, rules_, HttpServer::Facts{1, "cpu", 1}, queue_);
  }

  // Bounded by the test's own time limit alone.
  void wait_for(const std::function<bool()>& happened) {
    while (!happened()) std::this_thread::sleep_for(1ms);
  }

  ChatPrompt chat_{"/nowhere", "", ""};
  RequestRules rules_{nullptr, chat_, "tiny", 100, 40, {}, 0};
  ServeOptions options_;
  RequestQueue queue_{nullptr, {}, /*most_waiting=*/2, /*slots=*/1};
  std::unique_ptr<HttpServer> server_;
};

TEST_F(ServerWithoutModel, AClientThatGoesWhileItWaitsIsCancelled) {
  {
    const RawClient client(server_->port(), R"({"prompt":[1]})");
    wait_for([&] { return queue_.counts().waiting == 1; });
  }
  wait_for([&] { return queue_.take(0, 0ms).prompts.empty() && queue_.counts().cancelled == 1; });
  EXPECT_EQ(queue_.counts().waiting, 0);
}

TEST_F(ServerWithoutModel, AClientThatSendsByteByByteIsSentAway) {
  options_.arrival_timeout_s = 0.3;
  restart();
  for (const char* begin : {"GET /health HTTP/1.1\r\nX: ", "POST /v1/completions HTTP/1.1\r\nContent-Length: 100000\r\n\r\n"}) {
    const RawClient client(server_->port());
    EXPECT_TRUE(client.send_text(begin));
    wait_for([&] { return !client.send_text("a"); });
  }
}

TEST_F(ServerWithoutModel, WaitingForAnAnswerIsNotSendingSlowly) {
  options_.arrival_timeout_s = 0.1;
  restart();
  RawClient client(server_->port(), R"({"prompt":[1]})");
  wait_for([&] { return queue_.counts().waiting == 1; });
  std::this_thread::sleep_for(500ms);
  EXPECT_EQ(queue_.counts().cancelled, 0);
  queue_.end_all();
}

TEST_F(ServerWithoutModel, TheBodyOfARequestWithoutTheKeyIsNotTheNextRequest) {
  options_.api_key = "secret";
  restart();
  RawClient client(server_->port());
  EXPECT_TRUE(client.send_text("POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 14\r\n\r\n"));
  std::this_thread::sleep_for(20ms);  // the body comes in a packet of its own
  EXPECT_TRUE(client.send_text(R"({"prompt":[1]})"));
  EXPECT_THAT(client.refusal(), testing::StartsWith("HTTP/1.1 401 Unauthorized"));
  EXPECT_TRUE(client.send_text("GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_THAT(client.refusal(), testing::StartsWith("HTTP/1.1 404 Not Found"));
}

TEST_F(ServerWithoutModel, MoreThanItEverTakesAreABadRequest) {
  RawClient client(server_->port(), R"({"prompt":[1],"n":4,"temperature":1})");
  const std::string answer = client.refusal();
  EXPECT_THAT(answer, testing::StartsWith("HTTP/1.1 400 Bad Request"));
  EXPECT_THAT(answer, HasSubstr("4 continuations are more than this server takes at once, which are 3"));
}

}  // namespace
}  // namespace tp
