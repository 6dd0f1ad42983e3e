#include "launcher/launch_job.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

#include "launcher/chip_holders.h"
#include "launcher/console.h"
#include "launcher/job_guard.h"
#include "launcher/job_processes.h"
#include "launcher/launch_env.h"
#include "launcher/mpi_command.h"
#include "launcher/network.h"
#include "launcher/options_environment.h"
#include "launcher/program_path.h"
#include "launcher/shell_quote.h"
#include "launcher/slurm.h"
#include "launcher/supervisor.h"
#include "sharding/error.h"

namespace tp {
namespace {

struct Launch {
  MpiCommand mpi;
  LaunchEnv env;
  std::vector<std::string> unset;
  std::vector<Network> networks;  // between hosts; empty on one host
  std::string control;            // address for the ranks; empty on one host
};

// What the job's own directory and threads add to the environment of every rank.
void add_own_variables(const Environment& preset, const LaunchSettings& settings, const std::string& runtime_dir,
                       Launch& launch) {
  Environment& common = launch.env.common;
  if (settings.threads_given || !preset_text(preset, "OMP_NUM_THREADS"))
    common["OMP_NUM_THREADS"] = std::to_string(settings.threads);
  if (settings.hosts.empty()) common["TPRUN_RUNTIME_DIR"] = runtime_dir;
  launch.unset = {"TPRUN_CONTROL", "TPRUN_TOKEN"};
  // TMPDIR was changed for mpirun alone.
  if (const auto own = preset.find("TMPDIR"); own != preset.end()) {
    common["TMPDIR"] = own->second;
  } else {
    launch.unset.emplace_back("TMPDIR");
  }
}

// The network that the user named, for the layers above MPI: the store that ranks meet at, and a program's own process groups.
void add_interface(const Options& options, const LaunchSettings& settings, const Environment& preset, Launch& launch) {
  Environment& common = launch.env.common;
  const Network& network = launch.networks[0];
  if (!preset.contains("GLOO_SOCKET_IFNAME")) common["GLOO_SOCKET_IFNAME"] = network.interface;
  const bool named = !options.text("master-addr").empty() || preset.contains("MASTER_ADDR") || settings.place.several;
  if (!named) {
    common["MASTER_ADDR"] = network.address;
  } else if (!may_lead_to(launch.networks, common.at("MASTER_ADDR"))) {
    throw Error(
        "--interface",
        options.text("interface") + " (" + network.subnet + ") does not lead to MASTER_ADDR " + common.at("MASTER_ADDR"),
        "an address of that network for --master-addr, or the network that leads there");
  }
}

Launch make_launch(const Options& options, const LaunchSettings& settings, const Environment& preset) {
  Launch launch;
  launch.env = make_launch_env(launch_env_request(options, settings, preset));
  const std::string interface = options.text("interface");
  // Where a rank is, it is told once it has reported in; one of several tpruns knows by itself.
  if (!settings.place.several) {
    for (const char* name : {"LOCAL_WORLD_SIZE", "GROUP_RANK"}) launch.env.common.erase(name);
  }
  if (!interface.empty() || !settings.hosts.empty()) launch.networks = networks_between_hosts(interface);
  if (!interface.empty()) add_interface(options, settings, preset, launch);
  if (settings.hosts.empty()) return launch;
  launch.env.leases.push_back(PortLease::any());
  launch.control = "tcp:";
  for (const Network& network : launch.networks) launch.control += (launch.control.back() == ':' ? "" : ",") + network.address;
  launch.control += ":" + std::to_string(launch.env.leases.back().port());
  if (options.text("master-addr").empty() && !preset.contains("MASTER_ADDR")) {
    const std::string& first = settings.hosts[0].name;
    launch.env.common["MASTER_ADDR"] = first == "localhost" || first == "127.0.0.1" ? launch.networks[0].address : first;
  }
  return launch;
}

// mpirun that runs out of descriptors starts some of the ranks and waits for ever.
void require_descriptors(int nproc) {
  constexpr rlim_t kOwn = 32, kEach = 4;  // of mpirun, measured with 4.1: pipes of each rank beside its own
  rlimit limit{};
  const rlim_t needed = kOwn + kEach * static_cast<rlim_t>(nproc);
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
  throw Error("ulimit -n",
              std::to_string(limit.rlim_cur) + " open files are not enough to start " + std::to_string(nproc) +
                  (nproc == 1 ? " rank" : " ranks"),
              "ulimit -n " + std::to_string(needed) + ", or more");
}

bool root_opt_in(const Options& options) {
  return require_root_opt_in(geteuid(), options.flag("allow-run-as-root"), environment("OMPI_ALLOW_RUN_AS_ROOT"),
                             environment("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"));
}

void add_mpi_command(const Options& options, const LaunchSettings& settings, const std::filesystem::path& runtime_dir,
                     const MpiVersion& version, Launch& launch) {
  const bool root = root_opt_in(options);
  MpiRequest request;
  request.nproc = settings.ranks_started();
  request.cores = settings.cores;
  request.grace_s = settings.grace_s;
  request.interface = options.text("interface");
  request.runtime_dir = runtime_dir;
  request.hosts = settings.hosts;
  request.launch_agent = options.text("launch-agent");
  request.program = {own_program("tprun-exec").string()};
  for (const Network& network : launch.networks) request.subnets.push_back(network.subnet);
  request.forward = {"TPRUN_CONTROL", "TPRUN_TOKEN", kJobIdVariable};
  if (root) request.forward.insert(request.forward.end(), {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"});
  launch.mpi = mpi_command(version, request);
  if (!root) return;
  // As variables the opt-in reaches the daemons on other hosts, which the option does not in every release.
  for (const char* prefix : {"OMPI", "PRTE"}) {
    launch.mpi.env[std::string(prefix) + "_ALLOW_RUN_AS_ROOT"] = "1";
    launch.mpi.env[std::string(prefix) + "_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1";
  }
}

// What libtpu reads, for a rank that talks to it directly. How it is tuned the user may have set.
Environment chip_environment(const LaunchEnv& env, const Environment& preset, int local_rank) {
  Environment chip = libtpu_environment(env, local_rank);
  for (const char* tuning : {"LIBTPU_INIT_ARGS", "TPU_PREMAPPED_BUFFER_SIZE", "ALLOW_MULTIPLE_LIBTPU_LOAD"}) {
    if (preset.contains(tuning)) chip.erase(tuning);
  }
  return chip;
}

// Ranks of the runtime that several tpruns start meet at rank 0's store; see rank_main.cc.
void add_store(const LaunchSettings& settings, RankStart& start) {
  for (const char* name : {"MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE"}) start.argv.push_back(start.env.at(name));
  start.argv.push_back(std::to_string(settings.timeout_s));
}

// `chip_of`: what libtpu reads on this rank, if tprun sets it. `input`: what rank 0 reads, if tprun writes it.
void print_dry_run(const Launch& launch, const std::vector<std::string>& program,
                   const std::function<Environment(int)>& chip_of, const std::optional<std::string>& input) {
  const auto print = [](const char* title, const Environment& variables) {
    std::printf("# %s\n", title);
    for (const auto& [name, value] : variables) std::printf("%s=%s\n", name.c_str(), shell_quoted(value).c_str());
  };
  print("environment of mpirun", launch.mpi.env);
  print("environment of every rank", launch.env.common);
  for (size_t local = 0; local < launch.env.ranks.size(); ++local) {
    Environment rank = launch.env.ranks[local];
    rank.merge(chip_of(static_cast<int>(local)));
    print(("environment of rank " + rank.at("RANK")).c_str(), rank);
  }
  std::printf("# mpirun\n%s\n# each rank\n%s\n", shell_line(launch.mpi.argv).c_str(), shell_line(program).c_str());
  if (input) std::printf("# standard input of rank 0\n%s", input->c_str());
}

}  // namespace

int run_on_ranks(const Options& options, const LaunchSettings& settings, const std::vector<std::string>& program,
                 const std::optional<std::string>& input) {
  const Environment preset = whole_environment();
  require_started_once(preset, settings.place.several);
  if (settings.device.device == "tpu") require_free_chips(settings.chips, settings.nproc);
  Launch launch = make_launch(options, settings, preset);
  // A program after `--` brings torch_tpu, which exports these by itself.
  const bool on_chips = settings.device.device == "tpu" && !options.has_program;
  const auto chip_of = [&](int local_rank) {
    return on_chips ? chip_environment(launch.env, preset, local_rank) : Environment();
  };
  root_opt_in(options);
  require_descriptors(settings.nproc);
  if (options.flag("dry-run")) {
    const std::string runtime_dir = "/dev/shm/tprun-JOB";
    add_mpi_command(options, settings, runtime_dir, require_mpi_version(ask_mpirun({})), launch);
    add_own_variables(preset, settings, runtime_dir, launch);
    // The job of a server holds its key, which is nobody's to read.
    print_dry_run(launch, program, chip_of, options.command == "serve" ? std::nullopt : input);
    return 0;
  }
  JobGuard guard;
  const MpirunAnswer mpirun = ask_mpirun({{kJobIdVariable, guard.job_id()}});
  // Until here a signal ends tprun, and the guard takes away what it was about; now there is a job to be ended in good order.
  block_supervised_signals();
  if (mpirun.signal != 0) {
    std::fprintf(stderr, "tprun: error: mpirun was ended by %s\n", signal_name(mpirun.signal).c_str());
    return 128 + mpirun.signal;
  }
  add_mpi_command(options, settings, guard.runtime_dir(), require_mpi_version(mpirun), launch);
  add_own_variables(preset, settings, guard.runtime_dir(), launch);
  const int first_rank = settings.place.node_rank * settings.nproc;
  Console console({options.flag("quiet"), options.flag("tee"), isatty(2) == 1, options.text("log-dir"), first_rank,
                   settings.ranks_started()});
  SuperviseRequest request;
  request.mpi = launch.mpi;
  request.job_id = guard.job_id();
  request.first_rank = first_rank;
  request.world_size = settings.ranks_started();
  request.timeout_s = settings.timeout_s;
  request.grace_s = settings.grace_s;
  request.input = input;
  if (first_rank > 0 && !input) request.input = "";  // a program's input is rank 0's
  request.control = launch.control;
  request.start_of = [&](const std::vector<RankHello>& places, size_t rank) {
    RankStart start{program, launch.env.common, launch.unset, settings.threads};
    Environment place = settings.place.several ? launch.env.ranks[rank] : place_environment(places, rank);
    start.env.merge(place);
    if (settings.place.several && !options.has_program) add_store(settings, start);
    start.env.merge(chip_of(places[rank].local_rank));
    return start;
  };
  for (const std::string& note : launch.env.notes) console.note(note);
  if (settings.device.device == "cpu" && settings.hosts.empty() && settings.nproc > settings.cores) {
    console.note(std::to_string(settings.nproc) + " ranks share " + std::to_string(settings.cores) +
                 (settings.cores == 1 ? " core" : " cores") + ": they take turns");
  }
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
