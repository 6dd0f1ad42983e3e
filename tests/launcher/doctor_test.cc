#include "launcher/doctor.h"

#include <gtest/gtest.h>

#include "launcher/affinity.h"
#include "made_up_host.h"

namespace tp {
namespace {

Finding finding(const std::string& name, const std::string& root, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"doctor", "--host-root", root});
  for (const Finding& one : examine_host(parse_options(arguments))) {
    if (one.name == name) return one;
  }
  return {name, "is not looked at", ""};
}

TEST(Doctor, FindsMoreThreadsThanTheQuotaPaysFor) {
  if (count_cores(usable_cpus()) < 2) GTEST_SKIP() << "needs two cores";
  MadeUpHost host;
  host.add_file("proc/self/cgroup", "0::/a\n");
  host.add_file("sys/fs/cgroup/a/cpu.max", "50000 100000\n");
  const Finding one = finding("cores", host.root(), {"--device", "cpu", "-n", "1", "--threads", "1"});
  EXPECT_EQ(one.found.substr(0, 8), "1 core, ");
  EXPECT_EQ(one.mend, "");
  EXPECT_EQ(finding("cores", host.root(), {"--device", "cpu", "-n", "2", "--threads", "1"}).mend,
            "more threads than the cgroup's CPU quota pays for: fewer ranks, or --threads");
  EXPECT_EQ(finding("cores", host.root(), {"--device", "cpu", "-n", "2", "--threads", "4000"}).mend,
            "more threads than CPUs: fewer ranks, or --threads");
}

TEST(Doctor, TellsOfAChipThatCannotBeUsed) {
  MadeUpHost host;
  host.add_chip(0, "0x0063");
  host.add_chip(1, "0x0063", false);
  const Finding chips = finding("chips", host.root(), {"--device", "cpu"});
  EXPECT_EQ(chips.found, "1 usable, device cpu");
  EXPECT_EQ(chips.mend, "0000:00:01.0: it has no iommu_group: it is not bound to the vfio driver");
}

// What another job computes with is no fault of one that needs no chips.
TEST(Doctor, LooksForAPluginOnEveryHostAndMissesNoneOnTheCpu) {
  MadeUpHost host;
  EXPECT_NE(finding("plugin", host.root(), {"--device", "cpu"}).found, "is not looked at");
  for (const char* name : {"plugin", "lock"}) EXPECT_EQ(finding(name, host.root(), {"--device", "cpu"}).mend, "");
}

}  // namespace
}  // namespace tp
