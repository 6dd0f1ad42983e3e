#include "launcher/mpi_version.h"

#include <regex>

#include "launcher/mpirun_process.h"
#include "launcher/program_path.h"
#include "sharding/error.h"

namespace tp {
namespace {

constexpr const char* kInstall = "install Open MPI 4.1 or newer (Debian: apt-get install openmpi-bin)";

}  // namespace

std::optional<MpiVersion> parse_mpi_version(const std::string& text) {
  static const std::regex pattern(R"(\(Open MPI\) (\d+)\.(\d+)\.?(\d*))");
  std::smatch match;
  if (!std::regex_search(text, match, pattern)) return std::nullopt;
  return MpiVersion{std::stoi(match[1]), std::stoi(match[2]), match[3].length() > 0 ? std::stoi(match[3]) : 0};
}

MpirunAnswer ask_mpirun(const std::map<std::string, std::string>& env, double timeout_s) {
  if (!find_program("mpirun")) throw Error("mpirun", "not found in PATH", kInstall);
  MpirunProcess mpirun({{"mpirun", "--version"}, env});
  if (!wait_for_end(mpirun, timeout_s)) {
    throw Error("mpirun", "`mpirun --version` did not answer within " + std::to_string(static_cast<int>(timeout_s)) + " s",
                kInstall);
  }
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
