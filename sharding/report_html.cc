#include "sharding/plan_report.h"
#include "sharding/report_groups.h"
#include "sharding/weight_drawing.h"

namespace tp {
namespace {

constexpr const char* kStyleSheet = R"(
body{font:14px/1.4 system-ui,sans-serif;margin:24px;color:#222;background:#fff}
h1{font-size:20px;margin:0 0 4px}h2{font-size:15px;margin:24px 0 6px}
.facts{display:flex;flex-wrap:wrap;gap:8px 28px;margin:12px 0}.facts b{display:block;font-size:18px}
.chips{position:sticky;top:0;background:#fff;padding:8px 0;border-bottom:1px solid #ddd;z-index:1}
.chips button{font:inherit;border:2px solid transparent;border-radius:6px;padding:3px 10px;margin:0 4px 4px 0;cursor:pointer;
color:#fff}.chips button.all{background:#555}.chips button[aria-pressed=true]{border-color:#000}
table{border-collapse:collapse}td,th{padding:6px 14px 6px 0;text-align:left;vertical-align:middle;border-bottom:1px solid #eee}
th{font-weight:600;color:#555}td.n{text-align:right;font-variant-numeric:tabular-nums}code{font-size:13px}
small{color:#666}svg{display:block}svg text{font:9px sans-serif;fill:#fff;text-anchor:middle;pointer-events:none}
.edge{fill:none;stroke:#333;stroke-width:1}.whole{fill:#c9c9c9}.c{transition:opacity .1s}.dim{opacity:.12}
)";

constexpr const char* kScript = R"(
const show=chip=>{
 document.querySelectorAll('.c').forEach(g=>g.classList.toggle('dim',chip!==null&&!g.classList.contains('c'+chip)));
 document.querySelectorAll('.chips button').forEach(b=>b.setAttribute('aria-pressed',(b.dataset.chip??'all')===(chip??'all')));};
document.querySelectorAll('.chips button').forEach(b=>b.onclick=()=>show(b.dataset.chip??null));
)";

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string fact(const std::string& value, const std::string& label) {
  return "<div><b>" + escaped(value) + "</b>" + escaped(label) + "</div>";
}

std::string facts(const PlanReport& report) {
  std::string text = "<div class=\"facts\">" + fact(std::to_string(report.tp_size), report.tp_size == 1 ? "chip" : "chips") +
                     fact(size_text(report.stored_bytes), "whole model, " + std::string(torch_name(report.dtype))) +
                     fact(size_text(report.bytes_per_chip), "weights per chip") +
                     fact(size_text(report.padding_bytes_per_chip), "of it padding, at most") +
                     fact(size_text(report.cache_bytes_per_token), "KV cache per chip and token");
  for (const auto& [op, total] : report.totals) {
    text += fact(std::to_string(total.count) + " × " + op, "per token, " + size_text(total.bytes));
  }
  return text + "</div>";
}

std::string chip_buttons(const PlanReport& report) {
  std::string text = "<div class=\"chips\"><button class=\"all\" aria-pressed=\"true\">all chips</button>";
  for (int rank = 0; rank < report.tp_size; ++rank) {
    const std::string number = std::to_string(rank);
    text += "<button data-chip=\"" + number +
            "\" aria-pressed=\"false\" style=\"background:" + chip_color(rank, report.tp_size) + "\">chip " + number +
            "</button>";
  }
  return text + " <small>grey: whole on every chip; a band with several numbers is held by each of these chips</small></div>";
}

std::string row(const WeightGroup& group) {
  const WeightShare& share = *group.first;
  const std::string rule = share.rule.empty() ? "no rule" : escaped(share.rule) + "<br>" + escaped(share.where);
  return "<tr><td><code>" + escaped(group.name) + "</code></td><td class=\"n\">" + std::to_string(group.count()) + "</td><td>" +
         weight_svg(share) + "</td><td>" + shape_text(share.shape) + "<br><small>" +
         shape_text(share.slices.front().local_shape) + " on a chip</small></td><td>" +
         std::string(style_info(share.style).name) + "</td><td class=\"n\">" +
         (share.shared ? "shared" : size_text(share.bytes)) + "</td><td><small>" + rule + "</small></td></tr>\n";
}

std::string section(const std::string& title, const std::vector<WeightGroup>& groups, bool layers) {
  std::string rows;
  for (const WeightGroup& group : groups) {
    if ((group.first->layer >= 0) == layers) rows += row(group);
  }
  if (rows.empty()) return "";
  return "<h2>" + title + "</h2><table><tr><th>weight</th><th>n</th><th>rows × columns</th><th>stored</th><th>style</th>" +
         "<th>bytes on a chip, each</th><th>rule</th></tr>\n" + rows + "</table>";
}

}  // namespace

std::string report_html(const PlanReport& report) {
  const std::vector<WeightGroup> groups = weight_groups(report);
  const std::string title = escaped(report.plan + ": " + report.model_type + " on " + std::to_string(report.tp_size) +
                                    (report.tp_size == 1 ? " chip" : " chips"));
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + title + "</title><style>" + kStyleSheet +
         "</style></head><body><h1>" + title + "</h1>" + facts(report) + chip_buttons(report) +
         section("Layers", groups, true) + section("Embedding, last norm and head", groups, false) + "<script>" + kScript +
         "</script></body></html>\n";
}

}  // namespace tp
