#include "launcher/host_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/launch_env.h"
#include "launcher/slurm.h"
#include "sharding/error.h"

namespace tp {
namespace {

using ::testing::ElementsAre;

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.text();
  }
  return "accepted";
}

TEST(HostList, IsReadFromTheOption) {
  EXPECT_THAT(parse_host_option("a:2,b"), ElementsAre(HostSlots{"a", 2}, HostSlots{"b", 0}));
  EXPECT_EQ(refusal([] { parse_host_option("a,"); }), "--host: `` is not a host\n  fix: NAME or NAME:N");
  EXPECT_EQ(refusal([] { parse_host_option("-oProxyCommand=x"); }),
            "--host: `-oProxyCommand=x` is not a host\n  fix: NAME or NAME:N");
  EXPECT_EQ(refusal([] { parse_host_option("a:0"); }), "--host: `0` is not a number of ranks\n  fix: 1 to 4096");
  EXPECT_EQ(refusal([] { parse_host_option("a, b"); }), "--host: ` b` is not a host\n  fix: NAME or NAME:N");
  EXPECT_EQ(refusal([] { parse_host_option("a:2:2"); }), "--host: `a:2` is not a host\n  fix: NAME or NAME:N");
  EXPECT_EQ(refusal([] { parse_host_option("a,a"); }), "--host: a is there twice\n  fix: NAME:N gives a host N ranks");
}

TEST(HostList, IsReadFromAHostfile) {
  EXPECT_THAT(parse_hostfile("# two\na slots=2 max_slots=4\n\nb  # one\n", "h"),
              ElementsAre(HostSlots{"a", 2}, HostSlots{"b", 0}));
  // The words and blanks that mpirun takes.
  EXPECT_THAT(parse_hostfile("a slots = 2 max-slots=4\r\nb cpus=3\r\nc count=4\n", "h"),
              ElementsAre(HostSlots{"a", 2}, HostSlots{"b", 3}, HostSlots{"c", 4}));
  EXPECT_EQ(refusal([] { parse_hostfile("a slot=2\n", "h"); }), "h:1: `slot=2` is not understood\n  fix: NAME slots=N");
  EXPECT_EQ(refusal([] { parse_hostfile("a user=me\n", "h"); }), "h:1: `user=me` is not understood\n  fix: NAME slots=N");
  EXPECT_EQ(refusal([] { parse_hostfile("a:4\n", "h"); }), "h:1: `a:4` is not a host\n  fix: NAME slots=N");
  EXPECT_EQ(refusal([] { parse_hostfile("a\nb slots=x\n", "h"); }), "h:2: `x` is not a number of ranks\n  fix: 1 to 4096");
  EXPECT_EQ(refusal([] { parse_hostfile("\n", "h"); }), "h: names no host\n  fix: one host a line: NAME slots=N");
}

TEST(HostList, GivesEveryHostItsRanks) {
  std::vector<HostSlots> hosts = {{"a", 2}, {"b", 0}};
  settle_slots(hosts, 0);
  EXPECT_THAT(hosts, ElementsAre(HostSlots{"a", 2}, HostSlots{"b", 1}));
  EXPECT_EQ(refusal([] {
              std::vector<HostSlots> listed = {{"a", 2}};
              settle_slots(listed, 4);
            }),
            "--nproc-per-node: 4, but a is listed with 2\n  fix: leave one of them out");
}

TEST(Slurm, GivesHostsAndTasks) {
  EXPECT_THAT(slurm_hosts({{"SLURM_JOB_NODELIST", "n[1-2,07],x"}, {"SLURM_TASKS_PER_NODE", "2(x3),1"}}),
              ElementsAre(HostSlots{"n1", 2}, HostSlots{"n2", 2}, HostSlots{"n07", 2}, HostSlots{"x", 1}));
  EXPECT_THAT(slurm_hosts({{"SLURM_JOB_NODELIST", "r[1-2]n[08-09]"}}),
              ElementsAre(HostSlots{"r1n08", 0}, HostSlots{"r1n09", 0}, HostSlots{"r2n08", 0}, HostSlots{"r2n09", 0}));
  EXPECT_TRUE(slurm_hosts({{"SLURM_JOB_NODELIST", "n1"}, {"SLURM_TASKS_PER_NODE", "4"}}).empty());
  EXPECT_TRUE(slurm_hosts({}).empty());
  EXPECT_EQ(refusal([] {
              slurm_hosts({{"SLURM_JOB_NODELIST", "n[a-b]"}});
            }),
            "SLURM_JOB_NODELIST: `n[a-b]` is not understood\n  fix: name the hosts: --host A:N,B:N");
}

TEST(Slurm, RefusesACopyPerTask) {
  EXPECT_EQ(refusal([] {
              require_started_once({{"SLURM_STEP_NUM_TASKS", "4"}}, false);
            }),
            "SLURM_STEP_NUM_TASKS: srun started 4 copies of tprun; each would be a job of its own\n"
            "  fix: start tprun once; it starts the ranks: --nproc-per-node N");
  EXPECT_EQ(refusal([] { require_started_once({{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_NTASKS", "4"}}, false); }), "accepted");
  // One per host is what --nnodes asks for, however they were started.
  EXPECT_EQ(refusal([] { require_started_once({{"SLURM_STEP_NUM_TASKS", "4"}}, true); }), "accepted");
}

TEST(PlaceEnvironment, NumbersHostsByTheirFirstRank) {
  const std::vector<RankHello> places = {{0, 0, 3, 2, 1, "a", ""}, {1, 1, 3, 2, 2, "a", ""}, {2, 0, 3, 1, 3, "b", ""}};
  EXPECT_EQ(place_environment(places, 1),
            (Environment{{"RANK", "1"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"}, {"GROUP_RANK", "0"}}));
  EXPECT_EQ(place_environment(places, 2),
            (Environment{{"RANK", "2"}, {"LOCAL_RANK", "0"}, {"LOCAL_WORLD_SIZE", "1"}, {"GROUP_RANK", "1"}}));
}

}  // namespace
}  // namespace tp
