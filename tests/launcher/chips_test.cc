#include "launcher/chips.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "launcher/chip_holders.h"
#include "launcher/device_choice.h"
#include "launcher/devices_report.h"
#include "launcher/topology.h"
#include "made_up_host.h"
#include "sharding/error.h"

namespace tp {
namespace {

std::string refusal(const HostChips& host, int ranks) {
  try {
    require_possible_count(host, ranks);
  } catch (const Error& error) {
    return error.text();
  }
  return "possible";
}

std::string choice(const std::string& given, const HostChips& host, const Environment& preset = {}, bool plugin = false) {
  try {
    const DeviceChoice chosen = choose_device(given, host, preset, plugin, "/r");
    return chosen.device + ": " + chosen.note;
  } catch (const Error& error) {
    return error.text();
  }
}

TEST(Chips, AreCountedAsTorchTpuDoes) {
  MadeUpHost host;
  host.add_chips(2, "0x006f");
  host.add_chip(2, "0x006f", false, true);
  host.add_chip(3, "0x006f", true, false);
  const HostChips found = find_chips(host.root());
  EXPECT_EQ(found.device_count(), 2);
  ASSERT_EQ(found.unusable.size(), 2U);
  EXPECT_EQ(found.unusable[0].problem, "it has no iommu_group: it is not bound to the vfio driver");
  EXPECT_EQ(found.unusable[1].problem, "/dev/vfio/3 does not exist");
  EXPECT_EQ(found.usable[1].path, "/dev/vfio/1");
  EXPECT_EQ(found.usable[1].pci, "0000:00:01.0");
}

TEST(Chips, OfV7AreTwoDevicesEach) {
  MadeUpHost host;
  host.add_chips(4, "0x0076");
  const HostChips found = find_chips(host.root());
  EXPECT_EQ(found.device_count(), 8);
  EXPECT_EQ(refusal(found, 8), "possible");
  EXPECT_EQ(refusal(found, 16), "--nproc-per-node: asked 16, found 4 chips (8 devices)\n  fix: v7 with 4 chips: 2, 4 or 8");
}

TEST(Chips, FormOnlySomeCounts) {
  MadeUpHost host;
  host.add_chips(4, "0x006f");
  const HostChips found = find_chips(host.root());
  EXPECT_EQ(refusal(found, 4), "possible");
  EXPECT_EQ(refusal(found, 2), "--nproc-per-node: no topology of v6e has 2 devices\n  fix: v6e with 4 chips: 1 or 4");
  EXPECT_EQ(refusal(found, 8), "--nproc-per-node: asked 8, found 4 chips (4 devices)\n  fix: v6e with 4 chips: 1 or 4");
}

// Which of 1 to 16 ranks a host with so many chips of a generation can form.
std::vector<int> possible_counts(const std::string& device, int chips) {
  MadeUpHost host;
  host.add_chips(chips, device);
  const HostChips found = find_chips(host.root());
  std::vector<int> counts;
  for (int ranks = 1; ranks <= 16; ++ranks) {
    if (refusal(found, ranks) == "possible") counts.push_back(ranks);
  }
  return counts;
}

TEST(Chips, OfEveryGenerationFormTheShapesOfTorchTpu) {
  using Counts = std::vector<int>;
  for (const char* device : {"0x005e", "0x0062"}) {  // v4, v5p
    EXPECT_EQ(possible_counts(device, 1), (Counts{1}));
    EXPECT_EQ(possible_counts(device, 2), (Counts{1, 2}));
    EXPECT_EQ(possible_counts(device, 4), (Counts{1, 2, 4}));
    EXPECT_EQ(possible_counts(device, 8), (Counts{1, 2, 4, 8}));
  }
  for (const char* device : {"0x0063", "0x006f"}) {  // v5e, v6e
    EXPECT_EQ(possible_counts(device, 1), (Counts{1}));
    EXPECT_EQ(possible_counts(device, 2), (Counts{1}));
    EXPECT_EQ(possible_counts(device, 4), (Counts{1, 4}));
    EXPECT_EQ(possible_counts(device, 8), (Counts{1, 4, 8}));
  }
  // v7: two devices a chip
  EXPECT_EQ(possible_counts("0x0076", 1), (Counts{2}));
  EXPECT_EQ(possible_counts("0x0076", 2), (Counts{2, 4}));
  EXPECT_EQ(possible_counts("0x0076", 4), (Counts{2, 4, 8}));
  EXPECT_EQ(possible_counts("0x0076", 8), (Counts{2, 4, 8}));
}

TEST(Chips, OfTwoGenerationsDoNotMix) {
  MadeUpHost host;
  host.add_chip(0, "0x0062");
  host.add_chip(1, "0x005e");
  EXPECT_EQ(refusal(find_chips(host.root()), 2),
            "chips: this host has v5p and v4 chips; one job needs chips of one generation\n  fix: --device cpu");
}

TEST(Chips, AreNotNetworkCardsOfTheSameVendor) {
  MadeUpHost host;
  host.add_chip(0, "0x0042");
  host.add_file("sys/bus/pci/devices/0000:00:00.0/class", "0x020000\n");
  EXPECT_TRUE(find_chips(host.root()).signs.empty());
}

TEST(Chips, NameTheirHolder) {
  MadeUpHost host;
  host.add_chips(1, "0x0063");
  host.add_process(4711, std::string("python\0train.py\0", 16), "/dev/vfio/0");
  EXPECT_EQ(
      devices_json(find_chips(host.root())),
      "{\"available\":true,\"count\":1,\"chips\":[{\"generation\":\"v5e\",\"pci\":\"0000:00:00.0\",\"path\":\"/dev/vfio/0\","
      "\"hbm_bytes\":17179869184,\"devices\":1,\"numa\":0,\"holder\":{\"pid\":4711,\"user\":\"root\",\"command\":\"python "
      "train.py\"}}],\"unusable\":[]}\n");
  const std::string text = devices_text(find_chips(host.root()), host.root());
  EXPECT_EQ(text.substr(0, 7), "True 1\n");
  EXPECT_NE(text.find("pid 4711 (root): python train.py"), std::string::npos);
}

TEST(LibtpuLock, OfTheDeadIsToldFromThatOfTheLiving) {
  MadeUpHost host;
  const std::string path = host.root() + "/libtpu_lockfile";
  EXPECT_FALSE(libtpu_lock(path).exists);
  host.add_file("libtpu_lockfile", "4711\n");  // whoever that was
  EXPECT_TRUE(libtpu_lock(path).exists);
  EXPECT_FALSE(libtpu_lock(path).held);
  const int fd = open(path.c_str(), O_RDWR);
  ASSERT_EQ(flock(fd, LOCK_EX), 0);
  const LibtpuLock lock = libtpu_lock(path);
  EXPECT_TRUE(lock.held);
  ASSERT_TRUE(lock.holder);
  EXPECT_EQ(lock.holder->pid, getpid());
  close(fd);
  EXPECT_TRUE(std::filesystem::exists(path));  // it is never taken away
}

TEST(Chips, ThatAreHeldAreRefusedWithTheirHolders) {
  MadeUpHost host;
  host.add_chips(4, "0x0063");
  host.add_process(4711, std::string("python\0train.py\0", 16), "/dev/vfio/0");
  host.add_process(4712, std::string("sleep\09\0", 8), "/dev/vfio/3");
  const auto refusal_of = [&](int ranks) -> std::string {
    try {
      require_free_chips(find_chips(host.root()), ranks);
    } catch (const Error& error) {
      return error.text();
    }
    return "free";
  };
  const std::string fix = "\n  fix: wait for that process or end it; `tprun devices` shows who holds what";
  EXPECT_EQ(refusal_of(1), "chips: /dev/vfio/0 is held by pid 4711 (root): python train.py" + fix);
  EXPECT_EQ(
      refusal_of(4),
      "chips: /dev/vfio/0 is held by pid 4711 (root): python train.py; /dev/vfio/3 is held by pid 4712 (root): sleep 9" + fix);
}

TEST(DeviceChoice, WithoutChipsTellsWhatItLookedFor) {
  MadeUpHost empty;
  setenv("TPU_LIBRARY_PATH", "/nowhere/libtpu.so", 1);
  const std::string refused = choice("tpu", find_chips(empty.root()));
  unsetenv("TPU_LIBRARY_PATH");
  EXPECT_EQ(
      refused,
      "--device: no usable TPU chip; looked for /r/sys/bus/pci/devices with vendor 0x1ae0 and device v4 0x005e, v5p 0x0062, "
      "v5e 0x0063, v6e 0x006f, v7 0x0076, whose iommu_group N has /r/dev/vfio/N; /r/dev/accel*; PJRT plugin: "
      "TPU_LIBRARY_PATH: no such file: /nowhere/libtpu.so\n"
      "  fix: --device cpu, or a plugin that brings its own devices: --pjrt-plugin FILE");
}

TEST(DeviceChoice, IsTpuWhereChipsAreAndNeverChangesWhatWasSaid) {
  MadeUpHost empty, host, odd;
  host.add_chips(4, "0x005e");
  odd.add_file("dev/accel0", "");
  EXPECT_EQ(choice("", find_chips(host.root())), "tpu: device tpu (4 v4 chips)");
  EXPECT_EQ(choice("cpu", find_chips(host.root())), "cpu: ");
  EXPECT_EQ(choice("", find_chips(empty.root())), "cpu: device cpu (no TPU chip found)");
  EXPECT_EQ(choice("tpu", find_chips(empty.root()), {}, true), "tpu: ");
  EXPECT_EQ(choice("tpu", find_chips(empty.root())).substr(0, 46), "--device: no usable TPU chip; looked for /r/sy");
  EXPECT_EQ(choice("", find_chips(odd.root())),
            "--device: this looks like a TPU host (/dev/accel0), but no chip is usable\n"
            "  fix: say --device cpu to compute on the CPU, or see `tprun devices`");
  EXPECT_EQ(choice("", find_chips(empty.root()), {{"TPU_WORKER_ID", "1"}}),
            "--device: this looks like a TPU host (TPU_WORKER_ID=1), but no chip is usable\n"
            "  fix: say --device cpu to compute on the CPU, or see `tprun devices`");
}

TEST(Topology, NumbersHostsZMajorXMinor) {
  EXPECT_EQ(host_of_coordinates("4,4,2", {0, 0, 0}), 0);
  EXPECT_EQ(host_of_coordinates("4,4,2", {3, 1, 0}), 1);
  EXPECT_EQ(host_of_coordinates("4,4,2", {1, 2, 0}), 2);
  EXPECT_EQ(host_of_coordinates("4,4,2", {2, 3, 1}), 7);
  EXPECT_EQ(host_of_coordinates("2,4", {0, 2}), 1);
  EXPECT_EQ(host_of_coordinates("2,2,1,2", {1, 1, 0}), 0);
  EXPECT_EQ(host_of_coordinates("4,4,2", {4, 0, 0}), std::nullopt);
  EXPECT_EQ(host_of_coordinates("4,4,2", {0, 0, 2}), std::nullopt);
}

TEST(Topology, IsTorchTpusTable) {
  EXPECT_EQ(host_topology("v4", 2), "1,2,1");
  EXPECT_EQ(host_topology("v5p", 8), "2,2,2");
  EXPECT_EQ(host_topology("v5e", 8), "2,4,1");
  EXPECT_EQ(host_topology("v6e", 2), "");
  EXPECT_EQ(host_topology("v7", 4), "1,2,1,2");
  EXPECT_EQ(topology_product("2,2,1,2"), 8);
  EXPECT_EQ(topology_product("bogus"), 0);
  EXPECT_EQ(topology_product("2,,2"), 0);
  EXPECT_EQ(topology_product(""), 0);
}

}  // namespace
}  // namespace tp
