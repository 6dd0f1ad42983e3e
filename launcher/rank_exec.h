#pragma once

#include <sys/types.h>

#include <string>

#include "launcher/control.h"

namespace tp {

// Blocks the signals that RankExec handles. Called first of all, so that none ends this process before tprun is told.
void block_rank_signals();

// The per-rank step between mpirun and the program: connects to tprun, is told what to start, starts it in a process group
// of its own, carries its streams and signals, and reports how it ended. The program cannot outlive it, and it does not
// outlive tprun.
class RankExec {
 public:
  // `hello` without the token; the address and the token come from the environment that tprun made for mpirun.
  RankExec(RankHello hello, std::string address);
  // Returns the exit code for mpirun: 0 even when the program failed, because tprun has been told and decides what follows.
  int run();

 private:
  void start(const RankStart& start);
  void handle(const Frame& frame);
  void on_signals();
  void read_output(int& fd, FrameKind kind);
  void write_input();
  void on_child_end();
  void report(int code, int signal);
  void signal_program(int number);
  void forward_stop_when_due();
  bool poll_once();
  void lose_launcher();

  RankHello hello_;
  FrameStream stream_;
  int signal_fd_ = -1;
  pid_t parent_ = 0;
  pid_t child_ = 0;
  int out_fd_ = -1, err_fd_ = -1, in_fd_ = -1;
  std::string input_;
  bool input_ended_ = false;
  bool told_ = false;
  bool reported_ = false, done_ = false;
  int early_signal_ = 0;  // meant for a program that has not been started
  double stop_due_s_ = 0;  // when a SIGTERM of mpirun's is passed on; 0 = none waits
  bool succeeded_ = false;
};

}  // namespace tp
