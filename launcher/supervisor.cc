#include "launcher/supervisor.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>

#include "launcher/job_guard.h"
#include "launcher/job_processes.h"
#include "launcher/mpirun_process.h"
#include "launcher/options_environment.h"
#include "sharding/error.h"

namespace tp {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kTickMs = 100, kStartTickMs = 20, kFullTickMs = 5;
constexpr double kEndOfMpirunS = 3;             // mpirun's own end once all ranks have ended well
constexpr double kEndOfStoppedS = 0.5;          // and when they were stopped: nothing is left that it could do
constexpr double kLateReportS = 0.5;            // reports still under way when mpirun is gone
constexpr std::chrono::seconds kUnkillable{1};  // for the kernel to end an mpirun that was killed
constexpr size_t kLargestHello = 4096;
constexpr size_t kInputQueue = size_t{1} << 18;
constexpr int kStopSignals[] = {SIGTERM, SIGINT, SIGHUP};

Clock::time_point in_seconds(double s) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s));
}

sigset_t supervised_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) sigaddset(&set, number);
  return set;
}

struct Rank {
  std::unique_ptr<FrameStream> stream;
  RankHello hello;
  std::optional<RankExit> exit;
  bool late = false;  // it had not reported in when the time was up
};

class Supervisor {
 public:
  Supervisor(const SuperviseRequest& request, Console& console)
      : request_(request), console_(console), token_(random_id()), ranks_(static_cast<size_t>(request.world_size)) {}

  JobResult run();

 private:
  void tick();
  void accept_ranks();
  std::optional<RankHello> hello_of(FrameStream& stream) const;
  void read_newcomer(size_t index);
  void read_rank(Rank& rank);
  void start_all();
  void feed_input();
  void on_signals();
  void on_signal(int number);
  void end_ranks(int number);
  void send_signal(int number);
  void check_deadlines();
  void check_output();
  void finish_when_over();
  void finish_output();
  bool all_reported() const;
  int connected() const;
  JobFacts facts() const;

  const SuperviseRequest& request_;
  Console& console_;
  std::string token_;
  std::unique_ptr<MpirunProcess> mpirun_;
  int listen_fd_ = -1, signal_fd_ = -1, input_fd_ = -1;
  std::vector<std::unique_ptr<FrameStream>> newcomers_;
  std::vector<Rank> ranks_;
  bool started_ = false, timed_out_ = false, done_sent_ = false, over_ = false, output_failed_ = false;
  bool ending_ = false, killed_ = false, killed_mpirun_ = false, lost_ = false;
  int stop_signal_ = 0;
  Clock::time_point start_deadline_{}, kill_deadline_{}, mpirun_deadline_{}, lost_deadline_{};
};

JobResult Supervisor::run() {
  const std::string address = request_.control.empty() ? "unix:tprun-" + request_.job_id + "-" + random_id() : request_.control;
  listen_fd_ = listen_control(address);
  const sigset_t set = supervised_signals();
  signal_fd_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  MpiCommand command = request_.mpi;
  command.env["TPRUN_CONTROL"] = address;
  command.env["TPRUN_TOKEN"] = token_;
  command.env[kJobIdVariable] = request_.job_id;
  mpirun_ = std::make_unique<MpirunProcess>(command);
  start_deadline_ = in_seconds(request_.timeout_s);
  if (!request_.input) input_fd_ = 0;
  while (!over_) tick();
  finish_output();
  close(listen_fd_);
  close(signal_fd_);
  return judge_job(facts());
}

void Supervisor::tick() {
  const bool room = !console_.full();
  std::vector<pollfd> fds = {
      {signal_fd_, POLLIN, 0},
      {listen_fd_, POLLIN, 0},
      {mpirun_->output_fd(), POLLIN, 0},
      {started_ && ranks_[0].stream && ranks_[0].stream->queued() < kInputQueue ? input_fd_ : -1, POLLIN, 0},
  };
  const size_t first_rank = fds.size();
  for (const Rank& rank : ranks_) {
    const bool open = rank.stream && !rank.stream->closed();
    const short wanted = static_cast<short>((room ? POLLIN : 0) | (open && rank.stream->queued() > 0 ? POLLOUT : 0));
    fds.push_back({open && wanted != 0 ? rank.stream->fd() : -1, wanted, 0});
  }
  const size_t first_newcomer = fds.size();
  for (const auto& stream : newcomers_) fds.push_back({stream->fd(), POLLIN, 0});
  poll(fds.data(), fds.size(), !room ? kFullTickMs : started_ ? kTickMs : kStartTickMs);
  mpirun_->reap();

  if (fds[0].revents != 0) on_signals();
  if (fds[2].revents != 0) mpirun_->read_output();
  if (fds[3].revents != 0) feed_input();
  for (size_t i = 0; i < ranks_.size(); ++i) {
    const short events = fds[first_rank + i].revents;
    if (events & POLLOUT) ranks_[i].stream->flush();
    if (room && (events & (POLLIN | POLLHUP | POLLERR))) read_rank(ranks_[i]);
  }
  for (size_t i = newcomers_.size(); i-- > 0;) {
    if (fds[first_newcomer + i].revents != 0) read_newcomer(i);
  }
  if (fds[1].revents != 0) accept_ranks();
  start_all();
  check_output();
  check_deadlines();
  finish_when_over();
}

void Supervisor::accept_ranks() {
  for (int fd = 0; (fd = accept4(listen_fd_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
    // Names of abstract sockets are seen by every user of the host.
    ucred peer{};
    socklen_t size = sizeof(peer);
    const bool local = request_.control.empty();
    if (local && (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.uid != geteuid())) {
      close(fd);
    } else {
      newcomers_.push_back(std::make_unique<FrameStream>(fd));
    }
  }
}

// Anybody on the network may connect, so nothing is believed before the token.
std::optional<RankHello> Supervisor::hello_of(FrameStream& stream) const {
  const std::vector<Frame> frames = stream.receive();
  if (frames.empty() || frames[0].kind != FrameKind::kHello) return std::nullopt;
  try {
    const RankHello hello = hello_from_payload(frames[0].payload);
    const bool ours = hello.token == token_ && hello.rank >= 0 && hello.rank < request_.world_size;
    return ours ? std::optional<RankHello>(hello) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

void Supervisor::read_newcomer(size_t index) {
  std::unique_ptr<FrameStream>& stream = newcomers_[index];
  const std::optional<RankHello> hello = hello_of(*stream);
  const bool waits = !hello && !stream->closed() && stream->unread() > 0 && stream->unread() < kLargestHello;
  if (waits) return;
  if (hello && !ranks_[static_cast<size_t>(hello->rank)].stream) {
    Rank& rank = ranks_[static_cast<size_t>(hello->rank)];
    rank.stream = std::move(stream);
    rank.hello = *hello;
    if (ending_) rank.stream->send(FrameKind::kDone, "");  // too late: it has nothing to start
  }
  newcomers_.erase(newcomers_.begin() + static_cast<std::ptrdiff_t>(index));
}

void Supervisor::start_all() {
  if (started_ || ending_ || connected() < request_.world_size) return;
  started_ = true;
  std::vector<RankHello> places;
  for (const Rank& rank : ranks_) places.push_back(rank.hello);
  for (Rank& rank : ranks_) {
    rank.stream->send(FrameKind::kStart, to_payload(request_.start_of(places, static_cast<size_t>(rank.hello.rank))));
    if (rank.hello.rank != 0) rank.stream->send(FrameKind::kStdinEnd, "");
  }
  if (request_.input) {
    ranks_[0].stream->send(FrameKind::kStdin, *request_.input);
    ranks_[0].stream->send(FrameKind::kStdinEnd, "");
  }
}

void Supervisor::read_rank(Rank& rank) {
  for (const Frame& frame : rank.stream->receive()) {
    const bool is_stdout = frame.kind == FrameKind::kStdout;
    if (is_stdout || frame.kind == FrameKind::kStderr) {
      console_.rank_output(request_.first_rank + rank.hello.rank, rank.hello.host, is_stdout, frame.payload);
    } else if (frame.kind == FrameKind::kExit) {
      rank.exit = exit_from_payload(frame.payload);
    }
  }
  if (rank.stream->closed() && !rank.exit) {
    if (started_ || (lost_ && Clock::now() > lost_deadline_)) {
      rank.exit = RankExit{128 + SIGKILL, SIGKILL, ending_, 0};  // its tprun-exec was killed, and the program with it
    } else if (!lost_) {
      // mpirun knows more: whose process ended first, and how. It ends the others and then itself.
      lost_ = true;
      lost_deadline_ = in_seconds(request_.grace_s);
    }
  }
  if (rank.exit) console_.end_rank(request_.first_rank + rank.hello.rank, rank.hello.host);
  if (rank.exit && rank.exit->code != 0 && !ending_) end_ranks(SIGTERM);
}

void Supervisor::feed_input() {
  char buffer[1 << 16];
  const ssize_t n = read(input_fd_, buffer, sizeof(buffer));
  if (n > 0) {
    ranks_[0].stream->send(FrameKind::kStdin, {buffer, static_cast<size_t>(n)});
  } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
    ranks_[0].stream->send(FrameKind::kStdinEnd, "");
    input_fd_ = -1;
  }
}

void Supervisor::on_signals() {
  signalfd_siginfo info{};
  while (read(signal_fd_, &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo != SIGCHLD) on_signal(static_cast<int>(info.ssi_signo));
  }
  mpirun_->reap();
}

void Supervisor::on_signal(int number) {
  if (number == SIGUSR1 || number == SIGUSR2) {
    send_signal(number);
  } else if (stop_signal_ != 0 && number == SIGINT) {
    send_signal(SIGKILL);
    killed_ = true;
    kill_deadline_ = Clock::now();
  } else if (stop_signal_ == 0) {
    stop_signal_ = number;
    if (!ending_) end_ranks(number);
  }
}

void Supervisor::end_ranks(int number) {
  ending_ = true;
  kill_deadline_ = in_seconds(request_.grace_s);
  send_signal(number);
}

void Supervisor::send_signal(int number) {
  for (Rank& rank : ranks_) {
    if (!rank.stream || rank.exit) continue;
    if (started_) {
      rank.stream->send(FrameKind::kSignal, std::to_string(number));
    } else if (number != SIGUSR1 && number != SIGUSR2) {
      rank.stream->send(FrameKind::kDone, "");
    }
  }
}

void Supervisor::check_deadlines() {
  if (!started_ && !ending_ && Clock::now() > start_deadline_) {
    timed_out_ = true;
    for (Rank& rank : ranks_) rank.late = rank.stream == nullptr;
    end_ranks(SIGTERM);
    kill_deadline_ = Clock::now();
  }
  if (!started_) mpirun_->hurry();
  if (lost_ && !ending_ && Clock::now() > lost_deadline_) {
    for (Rank& rank : ranks_) {
      if (rank.stream && rank.stream->closed()) read_rank(rank);
    }
  }
  for (int number : kStopSignals) {
    // They are blocked in mpirun, so that it cannot end the ranks behind our back; what it was sent is seen here.
    if (stop_signal_ == 0 && mpirun_->is_pending(number)) on_signal(number);
  }
  if (mpirun_->ended() && !all_reported() && !ending_) {
    end_ranks(SIGTERM);
    if (!started_) kill_deadline_ = in_seconds(kLateReportS);
  }
  if (ending_ && !killed_ && Clock::now() > kill_deadline_) {
    killed_ = true;
    send_signal(SIGKILL);
  }
  if (ending_ && killed_ && !mpirun_->ended() && Clock::now() > kill_deadline_ + std::chrono::seconds(1)) {
    killed_mpirun_ = true;
    mpirun_->kill();
  }
}

void Supervisor::check_output() {
  if (output_failed_ || console_.output_error() == 0) return;
  // Whoever read the output has had enough, or its disk is full. The ranks are told to stop, as a program of its own would have
  // been.
  output_failed_ = true;
  if (!ending_) end_ranks(SIGTERM);
}

void Supervisor::finish_when_over() {
  if (all_reported() || (ending_ && !started_)) {
    if (!done_sent_) {
      done_sent_ = true;
      mpirun_deadline_ = in_seconds(ending_ ? kEndOfStoppedS : kEndOfMpirunS);
      for (Rank& rank : ranks_) {
        if (rank.stream) rank.stream->send(FrameKind::kDone, "");
      }
    }
    if (!mpirun_->ended() && Clock::now() > mpirun_deadline_) {
      killed_mpirun_ = true;
      mpirun_->kill();
    }
    over_ = mpirun_->ended() || Clock::now() > mpirun_deadline_ + kUnkillable;
  } else if (ending_ && Clock::now() > kill_deadline_ + std::chrono::seconds(1)) {
    // Ranks that neither report nor go; JobGuard kills what is left of them.
    over_ = mpirun_->ended() || Clock::now() > kill_deadline_ + std::chrono::seconds(1) + kUnkillable;
  }
  if (over_) mpirun_->read_output();
}

void Supervisor::finish_output() {
  while (!console_.wait_written(0.05)) {
    signalfd_siginfo info{};
    while (read(signal_fd_, &info, sizeof(info)) == sizeof(info)) {
      const int number = static_cast<int>(info.ssi_signo);
      if (number == SIGCHLD || number == SIGUSR1 || number == SIGUSR2) continue;
      stop_signal_ = stop_signal_ == 0 ? number : stop_signal_;
      return;
    }
    if (stop_signal_ != 0 && Clock::now() > kill_deadline_) return;
  }
}

bool Supervisor::all_reported() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& r) { return r.exit.has_value(); });
}

int Supervisor::connected() const {
  return static_cast<int>(
      std::count_if(ranks_.begin(), ranks_.end(), [](const Rank& r) { return r.stream && !r.stream->closed(); }));
}

JobFacts Supervisor::facts() const {
  JobFacts facts;
  facts.started = started_;
  facts.timed_out = timed_out_;
  facts.output_error = console_.output_error();
  facts.stop_signal = stop_signal_;
  facts.mpirun_signal = killed_mpirun_ ? 0 : mpirun_->signal();
  facts.mpirun_code = killed_mpirun_ ? 0 : mpirun_->code();
  facts.mpirun_output = mpirun_->output();
  facts.timeout_s = request_.timeout_s;
  facts.control = request_.control;
  for (size_t i = 0; i < ranks_.size(); ++i) {
    const Rank& rank = ranks_[i];
    const int number = request_.first_rank + static_cast<int>(i);
    // What stands at the end of the console already is not said again.
    const auto last_lines = console_.spoke_last(number) ? std::vector<std::string>() : console_.last_lines(number);
    facts.ranks.push_back({number, rank.late ? "" : rank.hello.host, rank.exit, last_lines});
  }
  return facts;
}

}  // namespace

void block_supervised_signals() {
  const sigset_t set = supervised_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGTTIN, SIG_IGN);
}

JobResult supervise(const SuperviseRequest& request, Console& console) {
  return Supervisor(request, console).run();
}

}  // namespace tp
