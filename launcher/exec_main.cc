// tprun-exec: what mpirun starts once per rank; see rank_exec.h. Not meant to be run by hand.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "launcher/options_environment.h"
#include "launcher/rank_exec.h"
#include "sharding/error.h"

namespace {

// Open MPI (4.1 and 5) gives every process its place in these.
int place(const char* name) {
  const auto value = tp::environment(name);
  if (!value) throw tp::Error(name, "not set", "tprun-exec is started by tprun; run `tprun … -- PROGRAM`");
  return std::atoi(value->c_str());
}

std::string host_name() {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  const std::string whole(name);
  return whole.substr(0, whole.find('.'));
}

}  // namespace

int main() {
  tp::block_rank_signals();
  try {
    tp::RankHello hello;
    hello.rank = place("OMPI_COMM_WORLD_RANK");
    hello.local_rank = place("OMPI_COMM_WORLD_LOCAL_RANK");
    hello.world_size = place("OMPI_COMM_WORLD_SIZE");
    hello.local_size = place("OMPI_COMM_WORLD_LOCAL_SIZE");
    hello.pid = getpid();
    hello.host = host_name();
    hello.token = tp::environment("TPRUN_TOKEN").value_or("");
    return tp::RankExec(std::move(hello), tp::environment("TPRUN_CONTROL").value_or("")).run();
  } catch (const tp::Error& error) {
    std::fprintf(stderr, "tprun: error: %s\n", error.text().c_str());
    return 1;
  }
}
