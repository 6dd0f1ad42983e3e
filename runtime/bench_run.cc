#include "runtime/bench_run.h"

#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>

#include "sharding/error.h"

namespace tp {
namespace {

using Json = nlohmann::ordered_json;

std::string number(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

double part(double value, double whole) {
  return whole > 0 ? value / whole : 0.0;
}

// What is known of the CPU alone.
Json of_cpu(const BenchRun& run, double value) {
  return run.on_chips ? Json() : Json(value);
}
std::string of_cpu(const BenchRun& run, double value, int digits) {
  return run.on_chips ? "-" : number(value, digits);
}

struct TableRow {
  const char* name;
  std::function<std::string(const BenchRun&)> text;
};

const std::vector<TableRow>& table_rows() {
  static const std::vector<TableRow> kRows = {
      {"tp_size", [](const BenchRun& run) { return std::to_string(run.tp_size); }},
      {"prompt tokens", [](const BenchRun& run) { return std::to_string(run.prompt); }},
      {"new tokens", [](const BenchRun& run) { return std::to_string(run.new_tokens); }},
      {"batch", [](const BenchRun& run) { return std::to_string(run.batch); }},
      {"prefill tokens/s", [](const BenchRun& run) { return number(run.prefill_tokens_per_s, 1); }},
      {"  of peak flops, %", [](const BenchRun& run) { return of_cpu(run, 100 * run.flops_ratio(), 0); }},
      {"decode tokens/s", [](const BenchRun& run) { return number(run.decode_tokens_per_s, 1); }},
      {"  of read bandwidth, %", [](const BenchRun& run) { return of_cpu(run, 100 * run.bandwidth_ratio(), 0); }},
      {"  in collectives, %", [](const BenchRun& run) { return of_cpu(run, 100 * run.collective_ratio, 1); }},
      {"  waiting for ranks, %", [](const BenchRun& run) { return of_cpu(run, 100 * run.wait_ratio, 1); }},
      {"collectives, us/token", [](const BenchRun& run) { return of_cpu(run, run.collective_us_per_token, 0); }},
      {"MB per token", [](const BenchRun& run) { return number(static_cast<double>(run.bytes_per_token) / 1e6, 1); }},
      {"read bandwidth, GB/s", [](const BenchRun& run) { return of_cpu(run, run.read_bandwidth_bytes_per_s / 1e9, 1); }},
      {"peak, GFLOP/s", [](const BenchRun& run) { return of_cpu(run, run.peak_flops_per_s / 1e9, 0); }},
      {"load, s", [](const BenchRun& run) { return number(run.load_s, 2); }},
      {"  of a copy's rate, %", [](const BenchRun& run) { return number(100 * run.load_ratio(), 0); }},
      {"anonymous memory, MB", [](const BenchRun& run) { return number(static_cast<double>(run.anonymous_bytes) / 1e6, 0); }},
  };
  return kRows;
}

std::string bar(double y, double ratio, const char* color, const std::string& label) {
  constexpr double kLeft = 260, kFull = 400;
  return "<rect x=\"" + number(kLeft, 0) + "\" y=\"" + number(y, 0) + "\" width=\"" + number(kFull * std::min(1.25, ratio), 1) +
         "\" height=\"14\" fill=\"" + color + "\"/>\n<text x=\"" + number(kLeft + kFull * std::min(1.25, ratio) + 6, 1) +
         "\" y=\"" + number(y + 11, 0) + "\">" + label + "</text>\n";
}

}  // namespace

double BenchRun::bandwidth_ratio() const {
  return part(static_cast<double>(bytes_per_token) * decode_tokens_per_s, read_bandwidth_bytes_per_s);
}

double BenchRun::load_ratio() const {
  return part(part(static_cast<double>(weight_bytes), load_s), copy_bytes_per_s);
}

double BenchRun::flops_ratio() const {
  return part(prefill_flops_per_s, peak_flops_per_s);
}

std::string bench_json(const std::vector<BenchRun>& runs) {
  Json list = Json::array();
  for (const BenchRun& run : runs) {
    list.push_back({{"tp_size", run.tp_size},
                    {"prompt", run.prompt},
                    {"new", run.new_tokens},
                    {"batch", run.batch},
                    {"prefill_tokens_per_s", run.prefill_tokens_per_s},
                    {"decode_tokens_per_s", run.decode_tokens_per_s},
                    {"bytes_per_token", run.bytes_per_token},
                    {"read_bandwidth_bytes_per_s", of_cpu(run, run.read_bandwidth_bytes_per_s)},
                    {"bandwidth_ratio", of_cpu(run, run.bandwidth_ratio())},
                    {"prefill_flops_per_s", run.prefill_flops_per_s},
                    {"peak_flops_per_s", of_cpu(run, run.peak_flops_per_s)},
                    {"flops_ratio", of_cpu(run, run.flops_ratio())},
                    {"collective_ratio", of_cpu(run, run.collective_ratio)},
                    {"wait_ratio", of_cpu(run, run.wait_ratio)},
                    {"collective_us_per_token", of_cpu(run, run.collective_us_per_token)},
                    {"load_s", run.load_s},
                    {"weight_bytes", run.weight_bytes},
                    {"copy_bytes_per_s", run.copy_bytes_per_s},
                    {"load_ratio", run.load_ratio()},
                    {"anonymous_bytes", run.anonymous_bytes}});
  }
  return Json{{"runs", list}}.dump() + "\n";
}

std::vector<BenchRun> bench_runs(const std::string& json) {
  std::vector<BenchRun> runs;
  try {
    const Json document = Json::parse(json);
    for (const Json& from : document.at("runs")) {
      BenchRun& run = runs.emplace_back();
      from.at("tp_size").get_to(run.tp_size);
      from.at("prompt").get_to(run.prompt);
      from.at("new").get_to(run.new_tokens);
      from.at("batch").get_to(run.batch);
      from.at("prefill_tokens_per_s").get_to(run.prefill_tokens_per_s);
      from.at("decode_tokens_per_s").get_to(run.decode_tokens_per_s);
      from.at("bytes_per_token").get_to(run.bytes_per_token);
      from.at("prefill_flops_per_s").get_to(run.prefill_flops_per_s);
      from.at("load_s").get_to(run.load_s);
      from.at("weight_bytes").get_to(run.weight_bytes);
      from.at("copy_bytes_per_s").get_to(run.copy_bytes_per_s);
      from.at("anonymous_bytes").get_to(run.anonymous_bytes);
      run.on_chips = from.at("bandwidth_ratio").is_null();
      if (run.on_chips) continue;
      from.at("read_bandwidth_bytes_per_s").get_to(run.read_bandwidth_bytes_per_s);
      from.at("peak_flops_per_s").get_to(run.peak_flops_per_s);
      from.at("collective_ratio").get_to(run.collective_ratio);
      from.at("wait_ratio").get_to(run.wait_ratio);
      from.at("collective_us_per_token").get_to(run.collective_us_per_token);
    }
  } catch (const Json::exception& error) {
    throw Error("bench", std::string("the runs cannot be read: ") + error.what());
  }
  return runs;
}

std::string bench_table(const std::vector<BenchRun>& runs) {
  std::string table;
  for (const TableRow& row : table_rows()) {
    std::string line = row.name;
    line.resize(24, ' ');
    for (const BenchRun& run : runs) {
      const std::string text = row.text(run);
      line += std::string(text.size() < 10 ? 10 - text.size() : 1, ' ') + text;
    }
    table += line + "\n";
  }
  return table;
}

std::string bench_svg(const std::vector<BenchRun>& runs) {
  const double height = 70 + 52 * static_cast<double>(runs.size());
  std::string svg =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"860\" height=\"" + number(height, 0) +
      "\" font-family=\"sans-serif\" font-size=\"12\" role=\"img\">\n<title>tprun bench</title>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
      "<text x=\"20\" y=\"24\" font-size=\"15\">tprun bench: decode against the read bandwidth, prefill against the "
      "multiply-add peak</text>\n";
  double y = 50;
  for (const BenchRun& run : runs) {
    svg += "<text x=\"20\" y=\"" + number(y + 18, 0) + "\">tp " + std::to_string(run.tp_size) + ", prompt " +
           std::to_string(run.prompt) + ", new " + std::to_string(run.new_tokens) + ", batch " + std::to_string(run.batch) +
           "</text>\n";
    svg +=
        bar(y, run.bandwidth_ratio(), "#2f6f9f",
            "decode " + number(run.decode_tokens_per_s, 1) + " tokens/s, " + of_cpu(run, 100 * run.bandwidth_ratio(), 0) + "%");
    svg +=
        bar(y + 18, run.flops_ratio(), "#c77d2e",
            "prefill " + number(run.prefill_tokens_per_s, 1) + " tokens/s, " + of_cpu(run, 100 * run.flops_ratio(), 0) + "%");
    y += 52;
  }
  svg += "<line x1=\"660\" x2=\"660\" y1=\"40\" y2=\"" + number(height - 20, 0) +
         "\" stroke=\"#888\" stroke-dasharray=\"4 3\"/>\n";
  return svg + "<text x=\"664\" y=\"" + number(height - 8, 0) + "\" fill=\"#666\">100%</text>\n</svg>\n";
}

}  // namespace tp
