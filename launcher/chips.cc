#include "launcher/chips.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>

#include "launcher/chip_holders.h"

namespace tp {
namespace fs = std::filesystem;
namespace {

constexpr int kGoogleVendor = 0x1ae0;
constexpr int kStorageClass = 0x01, kNetworkClass = 0x02;

// A file that holds one number, as sysfs writes it ("0x1ae0", "-1").
std::optional<int> read_number(const fs::path& path) {
  std::ifstream file(path);
  std::string text;
  if (!(file >> text)) return std::nullopt;
  try {
    return static_cast<int>(std::stoll(text, nullptr, 0));
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::vector<fs::path> sorted_entries(const fs::path& dir) {
  std::vector<fs::path> entries;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(dir, ignored)) entries.push_back(entry.path());
  std::sort(entries.begin(), entries.end());
  return entries;
}

// Google's network cards and disks carry the same vendor number.
bool is_other_device(const fs::path& dir) {
  const auto pci_class = read_number(dir / "class");
  return pci_class && ((*pci_class >> 16) == kStorageClass || (*pci_class >> 16) == kNetworkClass);
}

Chip read_chip(const fs::path& dir, const std::string& root) {
  Chip chip;
  chip.pci = dir.filename();
  const auto id = read_number(dir / "device");
  for (const ChipGeneration& generation : chip_generations()) {
    if (id == generation.pci_device) chip.generation = generation.name;
  }
  const auto numa = read_number(dir / "numa_node");
  if (numa && *numa >= 0) chip.numa = numa;
  std::error_code error;
  const fs::path link = fs::read_symlink(dir / "iommu_group", error);
  if (chip.generation.empty()) {
    chip.generation = "unknown";
    chip.problem = "its PCI device id is not that of a known TPU";
  } else if (error) {
    chip.problem = "it has no iommu_group: it is not bound to the vfio driver";
  } else if (const std::string path = "/dev/vfio/" + link.filename().string(); !fs::exists(root + path, error)) {
    chip.problem = path + " does not exist";
  } else if (root.empty() && access(path.c_str(), R_OK | W_OK) != 0) {
    chip.problem = "no permission for " + path;
  } else {
    chip.path = path;
  }
  return chip;
}

}  // namespace

const std::vector<ChipGeneration>& chip_generations() {
  static const std::vector<ChipGeneration> generations = {
      {"v4", 0x005e, 32, 1}, {"v5p", 0x0062, 95, 1}, {"v5e", 0x0063, 16, 1}, {"v6e", 0x006f, 32, 1}, {"v7", 0x0076, 192, 2}};
  return generations;
}

const ChipGeneration& chip_generation(std::string_view name) {
  for (const ChipGeneration& generation : chip_generations()) {
    if (generation.name == name) return generation;
  }
  throw std::logic_error("no such chip generation: " + std::string(name));
}

int HostChips::device_count() const {
  int count = 0;
  for (const Chip& chip : usable) count += chip_generation(chip.generation).devices;
  return count;
}

bool HostChips::mixed() const {
  std::set<std::string> names;
  for (const Chip& chip : usable) names.insert(chip.generation);
  return names.size() > 1;
}

HostChips find_chips(const std::string& root) {
  HostChips host;
  for (const fs::path& dir : sorted_entries(root + "/sys/bus/pci/devices")) {
    if (read_number(dir / "vendor") != kGoogleVendor || is_other_device(dir)) continue;
    Chip chip = read_chip(dir, root);
    host.signs.push_back("PCI device " + chip.pci + (chip.problem.empty() ? "" : " (" + chip.problem + ")"));
    (chip.problem.empty() ? host.usable : host.unusable).push_back(std::move(chip));
  }
  for (const fs::path& path : sorted_entries(root + "/dev")) {
    if (path.filename().string().starts_with("accel")) host.signs.push_back("/dev/" + path.filename().string());
  }
  if (!host.usable.empty()) find_holders(root, host.usable);
  return host;
}

std::string looked_for(const std::string& root) {
  std::string ids;
  for (const ChipGeneration& generation : chip_generations()) {
    char id[8];
    std::snprintf(id, sizeof(id), "0x%04x", static_cast<unsigned>(generation.pci_device));
    ids += (ids.empty() ? "" : ", ") + std::string(generation.name) + " " + id;
  }
  return root + "/sys/bus/pci/devices with vendor 0x1ae0 and device " + ids + ", whose iommu_group N has " + root +
         "/dev/vfio/N; " + root + "/dev/accel*";
}

}  // namespace tp
