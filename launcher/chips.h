#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tp {

// A kind of TPU chip. PCI ids, HBM and devices per chip as torch_tpu has them.
struct ChipGeneration {
  std::string_view name;  // "v5e"
  int pci_device = 0;
  int64_t hbm_gib = 0;  // of a chip
  int devices = 1;      // that a process can use, of a chip
};

const std::vector<ChipGeneration>& chip_generations();
const ChipGeneration& chip_generation(std::string_view name);  // std::logic_error for an unknown name

struct ChipHolder {
  pid_t pid = 0;
  std::string user, command;
};

struct Chip {
  std::string generation;
  std::string pci;   // "0000:00:04.0"
  std::string path;  // "/dev/vfio/0"; empty when the chip cannot be used
  std::optional<int> numa;
  std::optional<ChipHolder> holder;
  std::string problem;  // why it cannot be used; empty = it can
};

struct HostChips {
  std::vector<Chip> usable, unusable;  // by PCI address
  std::vector<std::string> signs;      // everything that says TPU: chips, /dev/accelN
  int device_count() const;            // of the usable chips
  bool mixed() const;                  // more than one generation among them
};

// Looks under root + /sys/bus/pci/devices, /dev and /proc. A chip counts as torch_tpu counts it: Google's PCI vendor, a known
// device id, an iommu_group link (of which only the last name counts) to N, and /dev/vfio/N. With an empty root the file must
// also be readable and writable for this user.
HostChips find_chips(const std::string& root);

// What find_chips looked for, for a host where it found nothing.
std::string looked_for(const std::string& root);

}  // namespace tp
