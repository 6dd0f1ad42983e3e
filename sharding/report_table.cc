#include <algorithm>

#include "sharding/plan_report.h"
#include "sharding/report_groups.h"

namespace tp {
namespace {

using Cells = std::vector<std::string>;

// Cells in columns two blanks apart; `right` names the columns that are aligned to the right.
std::string aligned(const std::vector<Cells>& lines, const std::vector<bool>& right) {
  std::vector<size_t> width(right.size(), 0);
  for (const Cells& cells : lines) {
    for (size_t i = 0; i < cells.size(); ++i) width[i] = std::max(width[i], cells[i].size());
  }
  std::string text;
  for (const Cells& cells : lines) {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string fill(width[i] - cells[i].size(), ' ');
      line += (i > 0 ? "  " : "") + (right[i] ? fill + cells[i] : cells[i] + fill);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string rule_text(const WeightShare& share) {
  if (share.rule.empty()) return "no rule";
  return share.rule + " (" + share.where + ")";
}

// "1.13 MiB", "292.5 KiB int4"
std::string bytes_text(const WeightShare& share) {
  const std::string kind(weight_kind_name(share.kind));
  return size_text(share.bytes) + (kind.empty() ? "" : " " + kind);
}

std::string totals_text(const PlanReport& report) {
  std::string text = "weights per chip: " + size_text(report.bytes_per_chip);
  if (report.padding_bytes_per_chip > 0) text += ", at most " + size_text(report.padding_bytes_per_chip) + " of it padding";
  text += "; the whole model: " + size_text(report.stored_bytes) + "\n";
  text += "KV cache per chip and token: " + size_text(report.cache_bytes_per_token) + "\n";
  text += "collectives per token:";
  if (report.totals.empty()) text += " none";
  const char* separator = " ";
  for (const auto& [op, total] : report.totals) {
    text += separator + std::to_string(total.count) + " " + op + " (" + size_text(total.bytes) + ")";
    separator = ", ";
  }
  return text + "\n";
}

}  // namespace

std::string report_table(const PlanReport& report, int rank) {
  std::string text = report.plan + ", " + report.model_type + ", " + std::to_string(report.tp_size) +
                     (report.tp_size == 1 ? " chip, " : " chips, ") + std::string(torch_name(report.dtype)) + "; chip " +
                     std::to_string(rank) + " holds:\n\n";
  std::vector<Cells> lines = {{"weight", "n", "style", "stored", "on the chip", "slice", "bytes each", "rule"}};
  for (const WeightGroup& group : weight_groups(report)) {
    const WeightShare& share = *group.first;
    const ShardSlice& slice = share.slices[static_cast<size_t>(rank)];
    lines.push_back({group.name, std::to_string(group.count()), std::string(style_info(share.style).name),
                     shape_text(share.shape), shape_text(slice.local_shape), slice_text(slice, share.shape),
                     share.shared ? "shared" : bytes_text(share), rule_text(share)});
  }
  text += aligned(lines, {false, true, false, false, false, false, true, false});
  text += "\n" + totals_text(report);
  return report.bound ? text + bound_text(*report.bound) : text;
}

}  // namespace tp
