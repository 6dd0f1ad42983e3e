#include "launcher/mpi_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/shell_quote.h"
#include "sharding/error.h"

namespace tp {
namespace {

MpiRequest request_of(int nproc, int cores) {
  MpiRequest request;
  request.nproc = nproc;
  request.cores = cores;
  request.runtime_dir = "/run/j";
  request.program = {"/opt/tprun-exec"};
  return request;
}

TEST(MpiCommand, UsesTheNamesOfVersion4) {
  EXPECT_EQ(
      shell_line(mpi_command({4, 1, 4}, request_of(2, 8)).argv),
      "mpirun -n 2 --map-by :OVERSUBSCRIBE --bind-to none --mca pml ob1 --mca btl self,vader "
      "--mca btl_vader_backing_directory /run/j --mca btl_tcp_if_include lo --mca plm isolated "
      "--mca ras '^slurm,tm,lsf,gridengine' --mca oob_tcp_if_include lo --mca odls_base_sigkill_timeout 15 /opt/tprun-exec");
}

TEST(MpiCommand, UsesTheNamesOfVersion5) {
  EXPECT_EQ(shell_line(mpi_command({5, 0, 6}, request_of(2, 8)).argv),
            "mpirun -n 2 --map-by :OVERSUBSCRIBE --bind-to none --mca pml ob1 --mca btl self,sm "
            "--mca btl_sm_backing_directory /run/j --mca btl_tcp_if_include lo --prtemca ras '^slurm,tm,lsf,gridengine' "
            "--prtemca prte_if_include lo "
            "--prtemca odls_base_sigkill_timeout 15 /opt/tprun-exec");
}

TEST(MpiCommand, NamesTheSameNetworksToEveryLayer) {
  MpiRequest request = request_of(3, 8);
  request.hosts = {{"a", 2}, {"b", 1}};
  request.subnets = {"10.0.0.0/24"};
  request.launch_agent = "/opt/agent x";
  request.forward = {"TPRUN_CONTROL"};
  EXPECT_EQ(shell_line(mpi_command({4, 1, 4}, request).argv),
            "mpirun -n 3 --map-by slot:OVERSUBSCRIBE --bind-to none --mca pml ob1 --host a:2,b:1 --mca btl self,vader,tcp "
            "--mca btl_tcp_if_include 10.0.0.0/24 --mca oob_tcp_if_include 10.0.0.0/24 --mca orte_keep_fqdn_hostnames 1 "
            "--mca plm_rsh_agent '/opt/agent x' -x TPRUN_CONTROL --mca odls_base_sigkill_timeout 15 /opt/tprun-exec");
  EXPECT_EQ(shell_line(mpi_command({5, 0, 6}, request).argv),
            "mpirun -n 3 --map-by slot:OVERSUBSCRIBE --bind-to none --mca pml ob1 --host a:2,b:1 --mca btl self,sm,tcp "
            "--mca btl_tcp_if_include 10.0.0.0/24 --prtemca prte_if_include 10.0.0.0/24 --prtemca prte_keep_fqdn_hostnames 1 "
            "--prtemca plm_ssh_agent '/opt/agent x' -x TPRUN_CONTROL --prtemca odls_base_sigkill_timeout 15 /opt/tprun-exec");
}

TEST(MpiCommand, LetsRanksYieldWhenThereAreMoreThanCores) {
  const std::string line = shell_line(mpi_command({4, 1, 4}, request_of(4, 2)).argv);
  EXPECT_THAT(line, ::testing::HasSubstr("--mca mpi_yield_when_idle 1"));
}

TEST(RootOptIn, IsTheOptionOrBothVariables) {
  EXPECT_FALSE(require_root_opt_in(1000, false, std::nullopt, std::nullopt));
  EXPECT_TRUE(require_root_opt_in(0, true, std::nullopt, std::nullopt));
  EXPECT_TRUE(require_root_opt_in(0, false, "1", "1"));
  try {
    require_root_opt_in(0, false, "1", std::nullopt);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.text(),
              "root: mpirun does not start ranks as root unless you say so\n  fix: add --allow-run-as-root, or set "
              "OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1, or run as another user");
  }
}

}  // namespace
}  // namespace tp
