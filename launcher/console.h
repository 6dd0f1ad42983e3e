#pragma once

#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/output_sink.h"

namespace tp {

struct ConsoleOptions {
  bool quiet = false;
  bool tee = false;
  bool color = false;             // standard error is a terminal
  std::filesystem::path log_dir;  // empty = no files
  int first_rank = 0, ranks = 1;  // those whose streams come here
};

// Where the ranks' streams go. Standard output of rank 0 is passed on byte for byte and nothing else is ever written there.
// Everything else comes out on standard error in whole lines, each with `[host:rank] ` before it. With a log directory, each
// rank's streams are also written, byte for byte, to rank_R.stdout.log and rank_R.stderr.log; where that fails it is told.
class Console {
 public:
  explicit Console(ConsoleOptions options);

  void rank_output(int rank, const std::string& host, bool is_stdout, std::string_view bytes);
  void end_rank(int rank, const std::string& host);  // an unfinished last line comes out
  void note(const std::string& text);                // "tprun: TEXT", not with --quiet
  void error(const std::string& text);               // "tprun: error: TEXT"
  std::vector<std::string> last_lines(int rank) const;
  // True when the last line on the console is this rank's.
  bool spoke_last(int rank) const { return shown_last_ == rank; }

  bool full() const { return out_.full() || err_.full(); }
  int output_error() const { return out_.error(); }  // as OutputSink
  bool wait_written(double timeout_s) { return err_.wait_empty(timeout_s) && out_.wait_empty(timeout_s); }

 private:
  struct RankLog {
    std::string partial[2];  // of standard output and standard error
    std::deque<std::string> last;
    int file[2] = {-1, -1};
  };
  void put_lines(int rank, const std::string& host, bool is_stdout, std::string_view bytes);
  void put_line(int rank, const std::string& host, std::string_view line);
  std::filesystem::path log_path(int rank, int stream) const;
  void log_bytes(int rank, bool is_stdout, std::string_view bytes);

  ConsoleOptions options_;
  std::map<int, RankLog> ranks_;
  int shown_last_ = -1;  // rank of the last line on the console; -1 = tprun's own
  OutputSink out_{1}, err_{2};
};

}  // namespace tp
