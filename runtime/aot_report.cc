#include "runtime/aot_report.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace tp {
namespace {

std::string gigabytes(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f GiB", static_cast<double>(bytes) / (1 << 30));
  return text;
}

std::string seconds(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f s", value);
  return text;
}

std::string collective(const AotProgram& program, const char* name) {
  const auto found = program.collectives.find(name);
  if (found == program.collectives.end()) return "0";
  char text[48];
  std::snprintf(text, sizeof(text), "%lld (%.2f MB)", static_cast<long long>(found->second.count),
                static_cast<double>(found->second.bytes) / 1e6);
  return text;
}

using Row = std::vector<std::string>;

// The first column is flush left, the others right.
std::string aligned(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows[0].size());
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - row[i].size(), ' ');
      out += i == 0 ? row[i] + space : "  " + space + row[i];
    }
    out += "\n";
  }
  return out;
}

// "decode: norm is rms_norm 65 times; temporaries 1.2 MB, peak 3.0 MB (built in: 2.0 MB, 4.0 MB)"; empty without kernels.
std::string kernels_line(const AotProgram& program) {
  std::string calls;
  for (const auto& [op, kernels] : program.kernel_calls) {
    for (const auto& [name, count] : kernels)
      calls += (calls.empty() ? "" : ", ") + op + " is " + name + " " + std::to_string(count) + " times";
  }
  if (calls.empty()) return "";
  std::string line = program.name + ": " + calls + "; temporaries " + gigabytes(program.temp_bytes) + ", peak " +
                     gigabytes(program.peak_bytes);
  if (program.built_in) {
    line += " (built in: " + gigabytes(program.built_in->temp_bytes) + ", " + gigabytes(program.built_in->peak_bytes) + ")";
  }
  return line + "\n";
}

}  // namespace

std::string aot_json(const AotReport& report) {
  nlohmann::ordered_json json;
  json["topology"] = report.topology.name;
  json["tp_size"] = report.tp_size;
  json["programs"] = nlohmann::ordered_json::array();
  for (const AotProgram& program : report.programs) {
    nlohmann::ordered_json entry;
    entry["name"] = program.name;
    entry["argument_bytes"] = program.argument_bytes;
    entry["output_bytes"] = program.output_bytes;
    entry["temp_bytes"] = program.temp_bytes;
    entry["alias_bytes"] = program.alias_bytes;
    entry["peak_bytes"] = program.peak_bytes;
    entry["limit_bytes"] = program.limit_bytes;
    entry["compile_s"] = program.compile_s;
    entry["collectives"] = nlohmann::ordered_json::object();
    for (const auto& [name, total] : program.collectives) {
      entry["collectives"][name] = {{"count", total.count}, {"bytes", total.bytes}};
    }
    if (!program.kernel_calls.empty()) entry["kernels"] = program.kernel_calls;
    if (program.built_in)
      entry["built_in"] = {{"temp_bytes", program.built_in->temp_bytes}, {"peak_bytes", program.built_in->peak_bytes}};
    if (!program.refusal.empty()) entry["refusal"] = program.refusal;
    json["programs"].push_back(entry);
  }
  json["fits"] = report.fits;
  json["advice"] = report.advice;
  json["weights_bytes"] = report.weights_bytes;
  json["cache_bytes"] = report.cache_bytes;
  return json.dump() + "\n";
}

std::string aot_table(const AotReport& report) {
  std::string out = report.topology.name + ", tp_size " + std::to_string(report.tp_size) + ", " + report.dtype + ", cache " +
                    std::to_string(report.cache_len) + ", batch " + std::to_string(report.batch) + "\nper chip: weights " +
                    gigabytes(report.weights_bytes) + ", KV cache " + gigabytes(report.cache_bytes) + "\n\n";
  std::vector<Row> rows{
      {"program", "arguments", "outputs", "temporaries", "aliased", "peak", "limit", "compile", "all_reduce", "all_gather"}};
  for (const AotProgram& program : report.programs) {
    const auto known = [&](int64_t bytes) { return program.compiled ? gigabytes(bytes) : "-"; };
    rows.push_back({program.name, gigabytes(program.argument_bytes), known(program.output_bytes), known(program.temp_bytes),
                    known(program.alias_bytes), known(program.peak_bytes), gigabytes(program.limit_bytes),
                    seconds(program.compile_s), collective(program, "all_reduce"), collective(program, "all_gather")});
  }
  out += aligned(rows) + "\n";
  for (const AotProgram& program : report.programs) out += kernels_line(program);
  for (const AotProgram& program : report.programs) {
    if (!program.compiled) out += program.name + " does not fit: " + program.refusal + "\n";
  }
  return out + (report.fits ? "fits\n" : "does not fit; what would: " + report.advice + "\n");
}

}  // namespace tp
