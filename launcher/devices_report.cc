#include "launcher/devices_report.h"

#include <nlohmann/json.hpp>

#include "launcher/chip_holders.h"

namespace tp {
namespace {

using Json = nlohmann::ordered_json;

std::string padded(const std::string& text, size_t width) {
  return text + std::string(text.size() < width ? width - text.size() : 1, ' ');
}

std::string row(const Chip& chip) {
  const ChipGeneration& generation = chip_generation(chip.generation);
  return padded(chip.generation, 12) + padded(chip.pci, 14) + padded(chip.path, 15) +
         padded(std::to_string(generation.hbm_gib) + " GiB", 9) + padded(std::to_string(generation.devices), 9) +
         padded(chip.numa ? std::to_string(*chip.numa) : "-", 6) + (chip.holder ? holder_text(*chip.holder) : "-") + "\n";
}

}  // namespace

std::string devices_text(const HostChips& host, const std::string& root) {
  std::string text = (host.usable.empty() ? "False " : "True ") + std::to_string(host.device_count()) + "\n";
  if (host.usable.empty()) {
    text += "looked for " + looked_for(root) + "\n";
  } else {
    text += padded("generation", 12) + padded("pci", 14) + padded("path", 15) + padded("hbm", 9) + padded("devices", 9) +
            padded("numa", 6) + "holder\n";
    for (const Chip& chip : host.usable) text += row(chip);
  }
  for (const Chip& chip : host.unusable) text += "not usable: " + chip.generation + " " + chip.pci + ": " + chip.problem + "\n";
  for (const std::string& sign : host.signs) {
    if (host.usable.empty() && sign.starts_with("/dev/")) text += "found " + sign + ", which is not a chip that can be used\n";
  }
  if (host.mixed()) text += "chips of more than one generation: no job can use them together\n";
  const LibtpuLock lock = libtpu_lock();
  if (lock.held) {
    text += "/tmp/libtpu_lockfile is held" + (lock.holder ? " by " + holder_text(*lock.holder) : std::string()) + "\n";
  } else if (lock.exists) {
    text += "/tmp/libtpu_lockfile is left over from a process that is gone; it is harmless\n";
  }
  return text;
}

std::string devices_json(const HostChips& host) {
  Json chips = Json::array(), unusable = Json::array();
  for (const Chip& chip : host.usable) {
    const ChipGeneration& generation = chip_generation(chip.generation);
    Json holder;
    if (chip.holder) holder = {{"pid", chip.holder->pid}, {"user", chip.holder->user}, {"command", chip.holder->command}};
    chips.push_back({{"generation", chip.generation},
                     {"pci", chip.pci},
                     {"path", chip.path},
                     {"hbm_bytes", generation.hbm_gib << 30},
                     {"devices", generation.devices},
                     {"numa", chip.numa ? Json(*chip.numa) : Json(nullptr)},
                     {"holder", holder}});
  }
  for (const Chip& chip : host.unusable)
    unusable.push_back({{"generation", chip.generation}, {"pci", chip.pci}, {"reason", chip.problem}});
  const Json all = {
      {"available", !host.usable.empty()}, {"count", host.device_count()}, {"chips", chips}, {"unusable", unusable}};
  return all.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tp
