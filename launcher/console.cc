#include "launcher/console.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "sharding/error.h"

namespace tp {
namespace {

constexpr size_t kLongestLine = size_t{1} << 20;  // a longer one is cut, so that memory has a bound
constexpr size_t kKeptLines = 10;
constexpr size_t kKeptBytes = 400;  // of each

}  // namespace

Console::Console(ConsoleOptions options) : options_(std::move(options)) {
  if (options_.log_dir.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(options_.log_dir, error);
  if (error)
    throw Error("--log-dir", options_.log_dir.string() + ": " + error.message(), "name a directory that can be written");
  for (int rank = options_.first_rank; rank < options_.first_rank + options_.ranks; ++rank) {
    for (int stream = 0; stream < 2; ++stream) {
      const auto path = log_path(rank, stream);
      const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
      if (fd < 0) throw Error("--log-dir", path.string() + ": " + std::strerror(errno), "name a directory that can be written");
      ranks_[rank].file[stream] = fd;
    }
  }
}

std::filesystem::path Console::log_path(int rank, int stream) const {
  return options_.log_dir / ("rank_" + std::to_string(rank) + (stream == 0 ? ".stdout.log" : ".stderr.log"));
}

void Console::log_bytes(int rank, bool is_stdout, std::string_view bytes) {
  const int stream = is_stdout ? 0 : 1;
  int& fd = ranks_[rank].file[stream];
  while (fd >= 0 && !bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
    if (n >= 0 || errno == EINTR) continue;
    // The job is worth more than its log, but a log with a hole would be taken for the whole.
    error("--log-dir: " + log_path(rank, stream).string() + ": " + std::strerror(errno) + "; it ends here");
    close(fd);
    fd = -1;
  }
}

void Console::rank_output(int rank, const std::string& host, bool is_stdout, std::string_view bytes) {
  log_bytes(rank, is_stdout, bytes);
  if (rank == 0 && is_stdout) {
    out_.write(bytes);
  } else {
    put_lines(rank, host, is_stdout, bytes);
  }
}

void Console::put_lines(int rank, const std::string& host, bool is_stdout, std::string_view bytes) {
  std::string& partial = ranks_[rank].partial[is_stdout ? 0 : 1];
  for (size_t end = 0; (end = bytes.find('\n')) != std::string_view::npos; bytes.remove_prefix(end + 1)) {
    partial.append(bytes.substr(0, end));
    put_line(rank, host, partial);
    partial.clear();
  }
  partial.append(bytes);
  if (partial.size() > kLongestLine) {
    put_line(rank, host, partial);
    partial.clear();
  }
}

void Console::put_line(int rank, const std::string& host, std::string_view line) {
  auto& last = ranks_[rank].last;
  last.emplace_back(line.substr(0, kKeptBytes));
  if (last.size() > kKeptLines) last.pop_front();
  if (options_.quiet && !options_.tee) return;
  std::string prefix = "[" + host + ":" + std::to_string(rank) + "] ";
  if (options_.color) prefix = "\033[" + std::to_string(31 + rank % 6) + "m" + prefix + "\033[0m";
  err_.write(prefix + std::string(line) + "\n");
  shown_last_ = rank;
}

void Console::end_rank(int rank, const std::string& host) {
  for (std::string& partial : ranks_[rank].partial) {
    if (!partial.empty()) put_line(rank, host, partial);
    partial.clear();
  }
}

void Console::note(const std::string& text) {
  if (options_.quiet) return;
  err_.write("tprun: " + text + "\n");
  shown_last_ = -1;
}

void Console::error(const std::string& text) {
  err_.write("tprun: error: " + text + "\n");
  shown_last_ = -1;
}

std::vector<std::string> Console::last_lines(int rank) const {
  const auto log = ranks_.find(rank);
  if (log == ranks_.end()) return {};
  return {log->second.last.begin(), log->second.last.end()};
}

}  // namespace tp
