#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tp {

// What tprun and the per-rank step `tprun-exec` say to one another over one stream socket per rank: a byte of FrameKind, four
// bytes of payload length (this host's order; both ends are the same build), the payload.
enum class FrameKind : uint8_t {
  kHello = 1,  // exec -> tprun: RankHello, first frame of all
  kStart,      // tprun -> exec: RankStart; the program is started on it
  kStdout,     // exec -> tprun: bytes that the program wrote
  kStderr,
  kExit,      // exec -> tprun: RankExit; nothing but the end of the stream follows
  kStdin,     // tprun -> exec: bytes for the program
  kStdinEnd,  // tprun -> exec
  kSignal,    // tprun -> exec: a signal number as text, for the program's process group
  kDone,      // tprun -> exec: the job is over, exit
};

struct Frame {
  FrameKind kind;
  std::string payload;
};

struct RankHello {
  int rank = 0, local_rank = 0, world_size = 0, local_size = 0;
  int64_t pid = 0;
  std::string host;
  std::string token;  // proves that the peer belongs to this job
};

struct RankStart {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;  // added to the environment that the rank was started with
  std::vector<std::string> unset;          // variables of mpirun's that the program must not see
  int threads = 1;                         // affinity: at least so many CPUs
};

struct RankExit {
  int code = 0;         // exit code, or 128 + signal
  int signal = 0;       // that ended the program; 0 = it exited
  bool told = false;    // it had been asked to stop before
  int64_t time_ns = 0;  // CLOCK_REALTIME
};

// Payloads are fields with a zero byte between them: arguments and variables are bytes that hold everything but that.
std::string to_payload(const RankHello& hello);
std::string to_payload(const RankStart& start);
std::string to_payload(const RankExit& exit);
// Throw Error for a payload of another form.
RankHello hello_from_payload(const std::string& payload);
RankStart start_from_payload(const std::string& payload);
RankExit exit_from_payload(const std::string& payload);

// A non-blocking stream of frames over a socket that it owns. Nothing here blocks.
class FrameStream {
 public:
  explicit FrameStream(int fd);
  ~FrameStream();
  FrameStream(FrameStream&& other) noexcept;
  FrameStream(const FrameStream&) = delete;
  FrameStream& operator=(const FrameStream&) = delete;
  FrameStream& operator=(FrameStream&&) = delete;

  int fd() const { return fd_; }
  void send(FrameKind kind, std::string_view payload);  // queues, then writes what the socket takes
  void flush();                                         // writes what the socket takes of the queue
  size_t queued() const { return out_.size() - out_done_; }
  // Reads what has come and returns the complete frames; sets closed() when the peer is gone.
  std::vector<Frame> receive();
  size_t unread() const { return in_.size(); }  // of a frame that has not come whole
  bool closed() const { return closed_; }

 private:
  int fd_;
  std::string in_, out_;
  size_t out_done_ = 0;
  bool closed_ = false;
};

// "unix:NAME": an abstract Unix socket (no file is left behind, whoever dies). "tcp:ADDRESS,ADDRESS:PORT": tprun listens on
// the port; a rank tries one address after the other. Both throw Error, connect_control with the addresses that were tried.
int listen_control(const std::string& address);
int connect_control(const std::string& address, double timeout_s);

}  // namespace tp
