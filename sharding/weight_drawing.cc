#include "sharding/weight_drawing.h"

#include <algorithm>
#include <cstdio>
#include <map>

namespace tp {
namespace {

constexpr double kLongest = 150;   // pixels of the longer side
constexpr double kShortest = 12;   // of the shorter one
constexpr double kLabelFrom = 10;  // a band this thick carries the chip's number

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
};

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string rect(const Box& box, const std::string& attributes) {
  return "<rect x=\"" + number(box.x) + "\" y=\"" + number(box.y) + "\" width=\"" + number(box.width) + "\" height=\"" +
         number(box.height) + "\" " + attributes + "/>";
}

std::string chip_box(const Box& box, int rank, int tp_size, const std::string& title) {
  std::string text = "<g class=\"c c" + std::to_string(rank) + "\"><title>" + title + "</title>" +
                     rect(box, "fill=\"" + chip_color(rank, tp_size) + "\"");
  if (std::min(box.width, box.height) >= kLabelFrom) {
    text += "<text x=\"" + number(box.x + box.width / 2) + "\" y=\"" + number(box.y + box.height / 2 + 3) + "\">" +
            std::to_string(rank) + "</text>";
  }
  return text + "</g>";
}

// Rows and columns of the drawing, and which of them (0 rows, 1 columns) the slices cut.
struct Plane {
  int64_t rows = 1, columns = 1;
  int axis = 0;
};

Plane plane_of(const WeightShare& share) {
  const std::vector<int64_t>& shape = share.shape;
  const int dim = share.slices.front().dim, dims = static_cast<int>(shape.size());
  if (dims == 1 && dim < 0) return {1, shape[0], 0};
  if (dims == 1) return {shape[0], 1, 0};
  if (dims == 2) return {shape[0], shape[1], std::max(dim, 0)};
  if (dim == 0) return {shape[0], 1, 0};
  return {shape[dims - 2], shape[dims - 1], dim == dims - 1 ? 1 : 0};
}

// The canvas keeps the weight's proportions as far as both sides stay visible and every band can carry its number.
Box canvas_of(const Plane& plane, size_t bands) {
  const double longest = static_cast<double>(std::max(plane.rows, plane.columns));
  const double cut = std::clamp((kLabelFrom + 1) * static_cast<double>(bands), kShortest, kLongest);
  const auto side = [&](int64_t size, double least) { return std::max(least, kLongest * static_cast<double>(size) / longest); };
  return {0, 0, side(plane.columns, plane.axis == 1 ? cut : kShortest), side(plane.rows, plane.axis == 0 ? cut : kShortest)};
}

// Source range -> the chips that hold it.
std::map<std::pair<int64_t, int64_t>, std::vector<int>> holders_of(const WeightShare& share) {
  std::map<std::pair<int64_t, int64_t>, std::vector<int>> holders;
  for (size_t rank = 0; rank < share.slices.size(); ++rank) {
    for (const SliceRun& run : share.slices[rank].runs) {
      holders[{run.source_begin, run.source_begin + run.count}].push_back(static_cast<int>(rank));
    }
  }
  return holders;
}

std::string bands(const WeightShare& share, const Plane& plane, const Box& canvas) {
  const int tp_size = static_cast<int>(share.slices.size());
  const bool by_rows = plane.axis == 0;
  const double scale =
      by_rows ? canvas.height / static_cast<double>(plane.rows) : canvas.width / static_cast<double>(plane.columns);
  std::string text;
  for (const auto& [range, ranks] : holders_of(share)) {
    const double begin = static_cast<double>(range.first) * scale,
                 size = static_cast<double>(range.second - range.first) * scale;
    const double part = (by_rows ? canvas.width : canvas.height) / static_cast<double>(ranks.size());
    for (size_t i = 0; i < ranks.size(); ++i) {
      const double at = part * static_cast<double>(i);
      const Box box = by_rows ? Box{at, begin, part, size} : Box{begin, at, size, part};
      text += chip_box(box, ranks[i], tp_size,
                       "chip " + std::to_string(ranks[i]) + ": " + (by_rows ? "rows " : "columns ") +
                           std::to_string(range.first) + " to " + std::to_string(range.second - 1));
    }
  }
  return text;
}

}  // namespace

std::string weight_svg(const WeightShare& share) {
  const Plane plane = plane_of(share);
  const Box canvas = canvas_of(plane, holders_of(share).size());
  std::string text = "<svg width=\"" + number(canvas.width + 2) + "\" height=\"" + number(canvas.height + 2) +
                     "\" viewBox=\"-1 -1 " + number(canvas.width + 2) + " " + number(canvas.height + 2) + "\">";
  if (share.slices.front().whole()) {
    text += "<g><title>whole on every chip</title>" + rect(canvas, "class=\"whole\"") + "</g>";
  } else {
    text += bands(share, plane, canvas);
  }
  return text + rect(canvas, "class=\"edge\"") + "</svg>";
}

std::string chip_color(int rank, int tp_size) {
  static const char* const kColors[] = {"#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#b07aa1", "#edc948", "#9c755f"};
  if (tp_size <= static_cast<int>(std::size(kColors))) return kColors[rank];
  return "hsl(" + std::to_string(rank * 360 / tp_size) + " 55% " + (rank % 2 == 0 ? "50%" : "65%") + ")";
}

}  // namespace tp
