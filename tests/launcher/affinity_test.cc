#include "launcher/affinity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "made_up_host.h"

namespace tp {
namespace {

using ::testing::ElementsAre;

// 4 cores with two hyperthreads each, numbered as Linux does: 0-3 are the first threads, 4-7 the second ones.
std::vector<Cpu> four_cores() {
  std::vector<Cpu> cpus;
  for (int core = 0; core < 4; ++core) {
    for (int thread = 0; thread < 2; ++thread) cpus.push_back({core + 4 * thread, core / 2, 0, core});
  }
  return cpus;
}

TEST(Affinity, GivesRanksDisjointWholeCores) {
  EXPECT_THAT(cpus_of_rank(four_cores(), 0, 2, 4), ElementsAre(0, 1, 4, 5));
  EXPECT_THAT(cpus_of_rank(four_cores(), 1, 2, 4), ElementsAre(2, 3, 6, 7));
  EXPECT_THAT(cpus_of_rank(four_cores(), 2, 3, 1), ElementsAre(2, 6));
  EXPECT_THAT(cpus_of_rank(four_cores(), 0, 1, 1), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(Affinity, IsNeverSmallerThanTheThreads) {
  EXPECT_THAT(cpus_of_rank(four_cores(), 1, 2, 5), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(cpus_of_rank(four_cores(), 7, 8, 1), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

// Two nodes of 5 cores, one thread each: 0-4 and 5-9.
std::vector<Cpu> two_nodes() {
  std::vector<Cpu> cpus;
  for (int id = 0; id < 10; ++id) cpus.push_back({id, id / 5, id / 5, id % 5});
  return cpus;
}

TEST(Affinity, StaysWithinANumaNode) {
  EXPECT_THAT(cpus_of_rank(two_nodes(), 0, 2, 1), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(cpus_of_rank(two_nodes(), 1, 2, 1), ElementsAre(5, 6, 7, 8, 9));
  // Three cores each would put rank 1 on both nodes.
  EXPECT_THAT(cpus_of_rank(two_nodes(), 0, 3, 2), ElementsAre(0, 1));
  EXPECT_THAT(cpus_of_rank(two_nodes(), 1, 3, 2), ElementsAre(2, 3));
  EXPECT_THAT(cpus_of_rank(two_nodes(), 2, 3, 2), ElementsAre(5, 6, 7, 8, 9));
  // Threads go before nodes.
  EXPECT_THAT(cpus_of_rank(two_nodes(), 1, 3, 3), ElementsAre(3, 4, 5));
}

// A host whose process is in the cgroup of the text of /proc/self/cgroup, with one quota file.
int cores_with_quota(const std::string& membership, const std::string& file, const std::string& quota) {
  MadeUpHost host;
  host.add_file("proc/self/cgroup", membership);
  host.add_file(file, quota);
  return usable_cores(two_nodes(), host.root());
}

TEST(Affinity, CountsTheCoresThatAQuotaPaysFor) {
  EXPECT_EQ(cores_with_quota("0::/\n", "sys/fs/cgroup/cpu.max", "150000 100000\n"), 2);
  EXPECT_EQ(cores_with_quota("0::/\n", "sys/fs/cgroup/cpu.max", "max 100000\n"), 10);
  EXPECT_EQ(cores_with_quota("0::/a/b\n", "sys/fs/cgroup/a/cpu.max", "300000 100000\n"), 3);
  EXPECT_EQ(cores_with_quota("0::/c\n", "sys/fs/cgroup/a/cpu.max", "300000 100000\n"), 10);
}

TEST(Affinity, CountsTheCoresOfAnOldCgroupToo) {
  MadeUpHost host;
  host.add_file("proc/self/cgroup", "4:cpu,cpuacct:/a\n");
  host.add_file("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "400000\n");
  host.add_file("sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(usable_cores(two_nodes(), host.root()), 4);
}

TEST(Affinity, CountsCoresNotHyperthreads) {
  EXPECT_EQ(usable_cores(four_cores(), "/nonexistent"), 4);
}

}  // namespace
}  // namespace tp
