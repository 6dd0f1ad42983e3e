#include "launcher/launch_job.h"

#include <unistd.h>

#include <cstdio>

#include "launcher/console.h"
#include "launcher/job_guard.h"
#include "launcher/job_processes.h"
#include "launcher/launch_env.h"
#include "launcher/mpi_command.h"
#include "launcher/options_environment.h"
#include "launcher/port_lease.h"
#include "launcher/program_path.h"
#include "launcher/shell_quote.h"
#include "launcher/supervisor.h"

namespace tp {
namespace {

struct Launch {
  MpiCommand mpi;
  Environment common;  // of every rank
  std::vector<std::string> unset;
  std::string master_addr;
  int master_port = 0;
};

Launch make_launch(const Options& options, const LaunchSettings& settings, const std::filesystem::path& runtime_dir) {
  Launch launch;
  const bool root = require_root_opt_in(geteuid(), options.flag("allow-run-as-root"), environment("OMPI_ALLOW_RUN_AS_ROOT"),
                                        environment("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"));
  const MpiRequest request{settings.nproc,   settings.cores,
                           settings.grace_s, options.text("interface"),
                           runtime_dir,      {own_program("tprun-exec").string()}};
  launch.mpi = mpi_command(detect_mpi_version(), request);
  if (root) {
    // As variables the opt-in reaches the daemons on other hosts, which the option does not in every release.
    for (const char* prefix : {"OMPI", "PRTE"}) {
      launch.mpi.env[std::string(prefix) + "_ALLOW_RUN_AS_ROOT"] = "1";
      launch.mpi.env[std::string(prefix) + "_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1";
    }
  }
  if (settings.threads_given || !environment("OMP_NUM_THREADS"))
    launch.common["OMP_NUM_THREADS"] = std::to_string(settings.threads);
  launch.common["TPRUN_RUNTIME_DIR"] = runtime_dir;
  launch.unset = {"TPRUN_CONTROL", "TPRUN_TOKEN"};
  // TMPDIR was changed for mpirun alone.
  if (const auto own = environment("TMPDIR")) {
    launch.common["TMPDIR"] = *own;
  } else {
    launch.unset.emplace_back("TMPDIR");
  }
  return launch;
}

PortLease master_port(const Options& options) {
  if (const auto given = options.count("master-port")) return PortLease::exactly(static_cast<int>(*given), "--master-port");
  if (const auto preset = environment("MASTER_PORT")) return PortLease::exactly(std::atoi(preset->c_str()), "MASTER_PORT");
  return PortLease::any();
}

void print_dry_run(const Launch& launch, const std::vector<std::string>& program) {
  const auto print = [](const std::string& name, const std::string& value) {
    std::printf("%s=%s\n", name.c_str(), shell_quoted(value).c_str());
  };
  std::printf("# environment of mpirun\n");
  for (const auto& [name, value] : launch.mpi.env) print(name, value);
  std::printf("# environment of every rank\n");
  for (const auto& [name, value] : launch.common) print(name, value);
  std::printf("# environment of rank 0\n");
  const int world = std::atoi(launch.mpi.argv[2].c_str());
  RankHello first;
  first.world_size = first.local_size = world;
  for (const auto& [name, value] : rank_environment(first, launch.master_addr, launch.master_port)) print(name, value);
  std::printf("# mpirun\n%s\n# each rank\n%s\n", shell_line(launch.mpi.argv).c_str(), shell_line(program).c_str());
}

}  // namespace

int run_on_ranks(const Options& options, const LaunchSettings& settings, const std::vector<std::string>& program,
                 const std::optional<std::string>& input) {
  const PortLease port = master_port(options);
  const auto finish = [&](Launch launch) {
    launch.master_addr =
        options.given("master-addr") ? options.text("master-addr") : environment("MASTER_ADDR").value_or("127.0.0.1");
    launch.master_port = port.port();
    return launch;
  };
  if (options.flag("dry-run")) {
    print_dry_run(finish(make_launch(options, settings, "/dev/shm/tprun-JOB")), program);
    return 0;
  }
  JobGuard guard;
  const Launch launch = finish(make_launch(options, settings, guard.runtime_dir()));
  Console console({options.flag("quiet"), options.flag("tee"), isatty(2) == 1, options.text("log-dir"), settings.nproc});
  SuperviseRequest request;
  request.mpi = launch.mpi;
  request.job_id = guard.job_id();
  request.world_size = settings.nproc;
  request.timeout_s = settings.timeout_s;
  request.grace_s = settings.grace_s;
  request.input = input;
  request.start_of = [&](const RankHello& place) {
    RankStart start{program, launch.common, launch.unset, settings.threads, settings.grace_s};
    start.env.merge(rank_environment(place, launch.master_addr, launch.master_port));
    return start;
  };
  for (int restart = 0;; ++restart) {
    const JobResult result = supervise(request, console);
    const bool again = result.code != 0 && !result.stopped && result.started && restart < settings.max_restarts;
    if (!result.error.empty()) console.error(result.error);
    if (again) {
      console.note("starting the job again (" + std::to_string(restart + 1) + " of " + std::to_string(settings.max_restarts) +
                   ")");
      guard.clear_processes();
      continue;
    }
    console.wait_written(1);
    return result.code;
  }
}

}  // namespace tp
