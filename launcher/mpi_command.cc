#include "launcher/mpi_command.h"

#include <cmath>

#include "sharding/error.h"

namespace tp {
namespace {

void add_parameter(MpiCommand& command, const std::string& name, const std::string& value) {
  command.argv.insert(command.argv.end(), {"--mca", name, value});
}

// Of the processes that start and watch ranks: ORTE's in 4.1, PRRTE's since 5.0.
void add_daemon_parameter(MpiCommand& command, bool prrte, const std::string& name, const std::string& value) {
  command.argv.insert(command.argv.end(), {prrte ? "--prtemca" : "--mca", name, value});
}

// Shared memory and loopback alone: no network is looked at, none can be wrong.
void add_one_host(MpiCommand& command, const MpiRequest& request, bool prrte) {
  add_parameter(command, "btl", prrte ? "self,sm" : "self,vader");
  add_parameter(command, prrte ? "btl_sm_backing_directory" : "btl_vader_backing_directory", request.runtime_dir);
  const std::string interface = request.interface.empty() ? "lo" : request.interface;
  add_parameter(command, "btl_tcp_if_include", interface);
  if (!prrte) add_parameter(command, "plm", "isolated");
  // Within a batch job Open MPI would ask its scheduler for hosts, and not find itself among them under its own name.
  add_daemon_parameter(command, prrte, "ras", "^slurm,tm,lsf,gridengine");
  add_daemon_parameter(command, prrte, prrte ? "prte_if_include" : "oob_tcp_if_include", interface);
}

// The same networks for messages (btl) and for the daemons (oob).
void add_hosts(MpiCommand& command, const MpiRequest& request, bool prrte) {
  std::string list, subnets;
  for (const HostSlots& host : request.hosts) list += (list.empty() ? "" : ",") + host.name + ":" + std::to_string(host.slots);
  for (const std::string& subnet : request.subnets) subnets += (subnets.empty() ? "" : ",") + subnet;
  command.argv.insert(command.argv.end(), {"--host", list});
  add_parameter(command, "btl", prrte ? "self,sm,tcp" : "self,vader,tcp");
  add_parameter(command, "btl_tcp_if_include", subnets);
  add_daemon_parameter(command, prrte, prrte ? "prte_if_include" : "oob_tcp_if_include", subnets);
  // Otherwise Open MPI asks for `a` where `a.b.c` was named.
  add_daemon_parameter(command, prrte, prrte ? "prte_keep_fqdn_hostnames" : "orte_keep_fqdn_hostnames", "1");
  if (!request.launch_agent.empty())
    add_daemon_parameter(command, prrte, prrte ? "plm_ssh_agent" : "plm_rsh_agent", request.launch_agent);
  for (const std::string& name : request.forward) command.argv.insert(command.argv.end(), {"-x", name});
}

}  // namespace

MpiCommand mpi_command(const MpiVersion& version, const MpiRequest& request) {
  const bool prrte = version.major >= 5;  // 5.x replaced ORTE by PRRTE: other names for what belongs to the launcher
  MpiCommand command;
  // `--oversubscribe` went with 5.0; this spelling is understood by both. tprun binds ranks itself (affinity.h): Open MPI's
  // own default pins 1 or 2 ranks to one core each and 3 to none.
  command.argv = {"mpirun",
                  "-n",
                  std::to_string(request.nproc),
                  "--map-by",
                  request.hosts.empty() ? ":OVERSUBSCRIBE" : "slot:OVERSUBSCRIBE",
                  "--bind-to",
                  "none"};
  add_parameter(command, "pml", "ob1");  // probing for others costs start-up time
  if (request.hosts.empty()) {
    add_one_host(command, request, prrte);
  } else {
    add_hosts(command, request, prrte);
  }
  if (request.nproc > request.cores) add_parameter(command, "mpi_yield_when_idle", "1");
  // mpirun must leave the grace to tprun.
  add_daemon_parameter(command, prrte, "odls_base_sigkill_timeout",
                       std::to_string(static_cast<int64_t>(std::ceil(request.grace_s)) + 5));
  command.env["TMPDIR"] = request.runtime_dir;
  command.argv.insert(command.argv.end(), request.program.begin(), request.program.end());
  return command;
}

bool require_root_opt_in(unsigned uid, bool option, const std::optional<std::string>& allow,
                         const std::optional<std::string>& confirm) {
  if (uid != 0) return false;
  if (!option && !(allow == "1" && confirm == "1")) {
    throw Error("root", "mpirun does not start ranks as root unless you say so",
                "add --allow-run-as-root, or set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1, or run as "
                "another user");
  }
  return true;
}

}  // namespace tp
