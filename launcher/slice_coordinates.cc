#include "launcher/slice_coordinates.h"

#include "launcher/mpirun_process.h"
#include "launcher/preset_values.h"
#include "launcher/program_path.h"

namespace tp {

std::vector<int> slice_coordinates(const std::string& plugin, double timeout_s) {
  constexpr std::string_view kMark = "coordinates: ";
  MpirunProcess process({{own_program("tprun-aot").string(), "--coordinates", plugin}, {}});
  if (!wait_for_end(process, timeout_s) || process.signal() != 0 || process.code() != 0) return {};
  // libtpu may write lines of its own before.
  const size_t mark = process.output().rfind(kMark);
  if (mark == std::string::npos) return {};
  const std::string line = process.output().substr(mark + kMark.size());
  std::vector<int> coordinates;
  for (const std::string& one : comma_list(line.substr(0, line.find('\n')))) {
    const auto number = whole_number(one);
    if (!number) return {};
    coordinates.push_back(*number);
  }
  return coordinates;
}

}  // namespace tp
