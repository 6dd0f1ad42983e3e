#include "launcher/rank_exec.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/job_guard.h"

namespace tp {
namespace {

constexpr int kPatienceMs = 20000;

// The next frame, or one without a payload and of no kind when none comes.
Frame next_frame(FrameStream& stream, std::vector<Frame>& waiting) {
  while (waiting.empty() && !stream.closed()) {
    pollfd ready{stream.fd(), POLLIN, 0};
    if (poll(&ready, 1, kPatienceMs) <= 0) break;
    waiting = stream.receive();
  }
  if (waiting.empty()) return {FrameKind{}, ""};
  Frame frame = waiting.front();
  waiting.erase(waiting.begin());
  return frame;
}

TEST(RankExec, ReportsASignalThatCameBeforeTheProgram) {
  const std::string address = "unix:tprun-test-" + random_id();
  const int listener = listen_control(address);
  const pid_t child = fork();
  if (child == 0) {
    block_rank_signals();
    raise(SIGTERM);
    _exit(RankExec(RankHello{0, 0, 1, 1, getpid(), "a", "t"}, address).run());
  }
  pollfd ready{listener, POLLIN, 0};
  ASSERT_EQ(poll(&ready, 1, kPatienceMs), 1);
  FrameStream stream(accept(listener, nullptr, nullptr));
  std::vector<Frame> waiting;
  ASSERT_EQ(next_frame(stream, waiting).kind, FrameKind::kHello);
  usleep(100'000);  // it sees the signal, then the start
  stream.send(FrameKind::kStart, to_payload(RankStart{{"true"}, {}, {}, 1}));
  const Frame frame = next_frame(stream, waiting);
  ASSERT_EQ(frame.kind, FrameKind::kExit);
  EXPECT_EQ(exit_from_payload(frame.payload).code, 128 + SIGTERM);
  EXPECT_EQ(exit_from_payload(frame.payload).signal, SIGTERM);
  stream.send(FrameKind::kDone, "");
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  close(listener);
}

}  // namespace
}  // namespace tp
