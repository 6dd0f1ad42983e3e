#include "launcher/mpi_version.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <regex>

#include "launcher/mpirun_process.h"
#include "launcher/program_path.h"
#include "sharding/error.h"

namespace tp {
namespace {

constexpr const char* kInstall = "install Open MPI 4.1 or newer (Debian: apt-get install openmpi-bin)";
constexpr int kReapMs = 5;

}  // namespace

std::optional<MpiVersion> parse_mpi_version(const std::string& text) {
  static const std::regex pattern(R"(\(Open MPI\) (\d+)\.(\d+)\.?(\d*))");
  std::smatch match;
  if (!std::regex_search(text, match, pattern)) return std::nullopt;
  return MpiVersion{std::stoi(match[1]), std::stoi(match[2]), match[3].length() > 0 ? std::stoi(match[3]) : 0};
}

MpirunAnswer ask_mpirun(const std::map<std::string, std::string>& env, double timeout_s) {
  if (!find_program("mpirun")) throw Error("mpirun", "not found in PATH", kInstall);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_s);
  MpirunProcess mpirun({{"mpirun", "--version"}, env});
  while (!mpirun.ended()) {
    const std::chrono::duration<double, std::milli> left = end - std::chrono::steady_clock::now();
    if (left.count() <= 0) {
      throw Error("mpirun", "`mpirun --version` did not answer within " + std::to_string(static_cast<int>(timeout_s)) + " s",
                  kInstall);
    }
    // With its output closed it is about to end; nothing but time tells when.
    pollfd output{mpirun.output_fd(), POLLIN, 0};
    poll(&output, 1, mpirun.output_fd() < 0 ? kReapMs : std::max(1, static_cast<int>(left.count())));
    mpirun.read_output();
    mpirun.reap();
  }
  mpirun.read_output();
  return {mpirun.output(), mpirun.signal()};
}

MpiVersion require_mpi_version(const MpirunAnswer& answer) {
  if (answer.signal != 0) {
    throw Error("mpirun", "was ended by signal " + std::to_string(answer.signal) + " when asked for its version", kInstall);
  }
  const auto version = parse_mpi_version(answer.text);
  if (!version) throw Error("mpirun", "is not Open MPI's: " + answer.text.substr(0, answer.text.find('\n')), kInstall);
  if (version->major < 4 || (version->major == 4 && version->minor < 1)) {
    throw Error("mpirun", "Open MPI " + std::to_string(version->major) + "." + std::to_string(version->minor) + " is too old",
                kInstall);
  }
  return *version;
}

}  // namespace tp
