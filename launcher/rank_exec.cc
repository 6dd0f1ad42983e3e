#include "launcher/rank_exec.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "launcher/affinity.h"
#include "launcher/job_processes.h"
#include "launcher/options_environment.h"
#include "sharding/error.h"

namespace tp {
namespace {

constexpr double kConnectTimeoutS = 60;
constexpr size_t kQueueLimit = size_t{1} << 20;  // output waiting for tprun before the program is made to wait
constexpr size_t kPipeRead = size_t{64} << 10;
// mpirun ends every rank when one calls MPI_Abort. The caller's own exit code would be lost if the signal overtook its exit.
constexpr double kStopDelayS = 0.25;
constexpr int kCannotRun = 126, kNotFound = 127;  // as shells report it

double now_s() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) sigaddset(&set, number);
  return set;
}

void move_fd(int from, int to) {
  if (from != to) dup2(from, to);
}

// In the child, between fork and exec.
[[noreturn]] void become_program(const RankStart& start, const RankHello& hello, pid_t parent, const int (&fds)[3],
                                 int failure_fd) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kCannotRun);
  for (int i = 0; i < 3; ++i) move_fd(fds[i], i);
  // mpirun and tprun change these; a program starts with what a shell would give it.
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
  for (const std::string& name : start.unset) unsetenv(name.c_str());
  for (const auto& [name, value] : start.env) setenv(name.c_str(), value.c_str(), 1);
  try {
    bind_to_cpus(cpus_of_rank(usable_cpus(), hello.local_rank, hello.local_size, start.threads));
  } catch (const Error&) {
    // A sandbox may forbid it; the ranks then share all CPUs, which `tprun doctor` tells.
  }
  std::vector<char*> argv;
  for (const std::string& argument : start.argv) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  const int why = errno;
  [[maybe_unused]] const ssize_t written = write(failure_fd, &why, sizeof(why));
  _exit(why == ENOENT ? kNotFound : kCannotRun);
}

}  // namespace

void block_rank_signals() {
  const sigset_t set = handled_signals();
  sigprocmask(SIG_BLOCK, &set, nullptr);
}

RankExec::RankExec(RankHello hello, std::string address)
    : hello_(std::move(hello)), stream_(connect_control(address, kConnectTimeoutS)), parent_(getppid()) {
  const sigset_t set = handled_signals();
  signal(SIGPIPE, SIG_IGN);
  signal_fd_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  // Descendants that lose their parent come here, so that they are seen and ended with the rank.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
}

int RankExec::run() {
  stream_.send(FrameKind::kHello, to_payload(hello_));
  while (poll_once()) {
  }
  return 0;
}

bool RankExec::poll_once() {
  const bool room = stream_.queued() < kQueueLimit;
  pollfd fds[5] = {
      {stream_.fd(), static_cast<short>(POLLIN | (stream_.queued() > 0 ? POLLOUT : 0)), 0},
      {signal_fd_, POLLIN, 0},
      {room ? out_fd_ : -1, POLLIN, 0},
      {room ? err_fd_ : -1, POLLIN, 0},
      {input_.empty() && !input_ended_ ? -1 : in_fd_, POLLOUT, 0},
  };
  const int timeout_ms = stop_due_s_ > 0 ? 50 : -1;
  if (poll(fds, 5, timeout_ms) < 0 && errno != EINTR) return false;
  if (fds[0].revents & POLLOUT) stream_.flush();
  if (fds[0].revents & (POLLIN | POLLHUP | POLLERR)) {
    for (const Frame& frame : stream_.receive()) handle(frame);
    if (stream_.closed()) {
      lose_launcher();
      return false;
    }
  }
  if (fds[2].revents != 0) read_output(out_fd_, FrameKind::kStdout);
  if (fds[3].revents != 0) read_output(err_fd_, FrameKind::kStderr);
  if (fds[4].revents != 0) write_input();
  if (fds[1].revents & POLLIN) on_signals();
  forward_stop_when_due();
  // A rank that ended well may leave at once: MPI knows that it has finalized. One that failed waits for tprun, lest mpirun
  // ends the others before they have had their grace.
  return !(done_ || (reported_ && succeeded_ && stream_.queued() == 0));
}

void RankExec::handle(const Frame& frame) {
  switch (frame.kind) {
    case FrameKind::kStart:
      start(start_from_payload(frame.payload));
      break;
    case FrameKind::kStdin:
      if (in_fd_ >= 0) input_ += frame.payload;
      break;
    case FrameKind::kStdinEnd:
      input_ended_ = true;
      break;
    case FrameKind::kSignal:
      signal_program(std::atoi(frame.payload.c_str()));
      break;
    case FrameKind::kDone:
      done_ = true;
      break;
    default:
      break;
  }
}

void RankExec::start(const RankStart& start) {
  if (early_signal_ != 0) return report(128 + early_signal_, early_signal_);
  int in[2], out[2], err[2], failure[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0 || pipe2(failure, O_CLOEXEC) != 0) {
    throw Error("rank " + std::to_string(hello_.rank), std::string("pipe: ") + std::strerror(errno));
  }
  const pid_t self = getpid();
  child_ = fork();
  if (child_ < 0) throw Error("rank " + std::to_string(hello_.rank), std::string("fork: ") + std::strerror(errno));
  if (child_ == 0) become_program(start, hello_, self, {in[0], out[1], err[1]}, failure[1]);
  setpgid(child_, child_);
  for (int fd : {in[0], out[1], err[1], failure[1]}) close(fd);
  in_fd_ = in[1];
  out_fd_ = out[0];
  err_fd_ = err[0];
  for (int fd : {in_fd_, out_fd_, err_fd_}) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  int why = 0;
  if (read(failure[0], &why, sizeof(why)) == sizeof(why)) {
    stream_.send(FrameKind::kStderr, "tprun: error: " + start.argv[0] + ": " + std::strerror(why) + "\n");
  }
  close(failure[0]);
}

void RankExec::read_output(int& fd, FrameKind kind) {
  static char buffer[kPipeRead];
  const ssize_t n = read(fd, buffer, sizeof(buffer));
  if (n > 0) {
    stream_.send(kind, {buffer, static_cast<size_t>(n)});
  } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
    close(fd);
    fd = -1;
  }
}

void RankExec::write_input() {
  while (!input_.empty()) {
    const ssize_t n = write(in_fd_, input_.data(), input_.size());
    if (n > 0) {
      input_.erase(0, static_cast<size_t>(n));
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR) {
      input_.clear();  // the program closed its input; that is its right
      input_ended_ = true;
    }
  }
  if (input_ended_) {
    close(in_fd_);
    in_fd_ = -1;
    input_ended_ = false;
  }
}

void RankExec::on_signals() {
  signalfd_siginfo info{};
  while (read(signal_fd_, &info, sizeof(info)) == sizeof(info)) {
    const int number = static_cast<int>(info.ssi_signo);
    if (number == SIGCHLD) {
      on_child_end();
    } else if (getppid() != parent_) {
      // mpirun is gone. tprun sees that too and decides; without tprun, lose_launcher() ends the rank.
      told_ = true;
    } else if (number == SIGTERM && static_cast<pid_t>(info.ssi_pid) == parent_) {
      stop_due_s_ = now_s() + kStopDelayS;
    } else if (child_ > 0 && !reported_) {
      // Somebody means this rank alone: for the job it is a rank that failed.
      kill(-child_, number);
    } else if (child_ == 0) {
      early_signal_ = number;
    } else {
      done_ = true;
    }
  }
}

void RankExec::forward_stop_when_due() {
  if (stop_due_s_ == 0 || now_s() < stop_due_s_) return;
  stop_due_s_ = 0;
  signal_program(SIGTERM);
  if (child_ == 0) done_ = true;  // mpirun gives up before tprun has started the program
}

void RankExec::signal_program(int number) {
  if (child_ <= 0 || reported_) return;
  if (number != SIGUSR1 && number != SIGUSR2) told_ = true;
  kill(-child_, number);
}

void RankExec::on_child_end() {
  int status = 0;
  for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (pid != child_) continue;
    // All that it wrote is in the pipes by now; a descendant may hold them open for ever, so this does not wait for the end.
    for (int* fd : {&out_fd_, &err_fd_}) {
      const FrameKind kind = fd == &out_fd_ ? FrameKind::kStdout : FrameKind::kStderr;
      pollfd ready{*fd, POLLIN, 0};
      while (*fd >= 0 && poll(&ready, 1, 0) > 0) read_output(*fd, kind);
    }
    kill(-child_, SIGKILL);
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    report(signal != 0 ? 128 + signal : WEXITSTATUS(status), signal);
  }
}

void RankExec::report(int code, int signal) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  succeeded_ = code == 0;
  stream_.send(FrameKind::kExit, to_payload(RankExit{code, signal, told_, int64_t{now.tv_sec} * 1000000000 + now.tv_nsec}));
  reported_ = true;
}

void RankExec::lose_launcher() {
  if (child_ > 0) kill(-child_, SIGKILL);
  if (const auto job = environment(kJobIdVariable)) kill_processes_of_job(*job, 5);
}

}  // namespace tp
