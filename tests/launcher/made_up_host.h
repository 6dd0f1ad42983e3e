#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace tp {

// A directory that looks like / of a host with chips, for --host-root.
class MadeUpHost {
 public:
  MadeUpHost() {
    std::string name = ::testing::TempDir() + "tprun-host-XXXXXX";
    root_ = mkdtemp(name.data());
    std::filesystem::create_directories(root_ / "dev/vfio");
    std::filesystem::create_directories(root_ / "proc");
    std::filesystem::create_directories(root_ / "sys/bus/pci/devices");
  }
  ~MadeUpHost() { std::filesystem::remove_all(root_); }

  std::string root() const { return root_; }

  // A PCI device with this id; iommu group and vfio file `index`.
  void add_chip(int index, const std::string& device, bool iommu = true, bool vfio = true) {
    const auto dir = root_ / "sys/bus/pci/devices" / ("0000:00:0" + std::to_string(index) + ".0");
    std::filesystem::create_directories(dir);
    std::ofstream(dir / "vendor") << "0x1ae0\n";
    std::ofstream(dir / "device") << device << "\n";
    std::ofstream(dir / "numa_node") << index / 4 << "\n";
    if (iommu) std::filesystem::create_symlink("../../../kernel/iommu_groups/" + std::to_string(index), dir / "iommu_group");
    if (vfio) std::ofstream(root_ / "dev/vfio" / std::to_string(index));
  }

  void add_chips(int count, const std::string& device) {
    for (int i = 0; i < count; ++i) add_chip(i, device);
  }

  void add_process(int pid, const std::string& command, const std::string& open_file) {
    const auto dir = root_ / "proc" / std::to_string(pid);
    std::filesystem::create_directories(dir / "fd");
    std::ofstream(dir / "cmdline") << command;
    std::ofstream(dir / "status") << "Name:\tx\nUid:\t0\t0\t0\t0\n";
    std::filesystem::create_symlink(open_file, dir / "fd" / "3");
  }

  void add_file(const std::string& path, const std::string& content) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << content;
  }

 private:
  std::filesystem::path root_;
};

}  // namespace tp
