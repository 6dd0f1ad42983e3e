#pragma once

#include <map>
#include <optional>
#include <string>

namespace tp {

struct MpiVersion {
  int major = 0, minor = 0, patch = 0;
};

// From what `mpirun --version` prints; nullopt when that is not Open MPI.
std::optional<MpiVersion> parse_mpi_version(const std::string& text);

// What `mpirun --version` said, or the signal that ended it before it could.
struct MpirunAnswer {
  std::string text;
  int signal = 0;
};

// Runs `mpirun --version` with `env` beside tprun's own environment. Throws Error: no mpirun in PATH, no answer in time.
MpirunAnswer ask_mpirun(const std::map<std::string, std::string>& env, double timeout_s = 30);

// Throws Error: ended by a signal, not Open MPI, older than 4.1.
MpiVersion require_mpi_version(const MpirunAnswer& answer);

}  // namespace tp
