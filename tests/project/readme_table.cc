// The README's table of what works, made from the tables of the code.
//
//   readme_table --check README.md    exit 1 if the table there is another one
//   readme_table --write README.md    puts it there
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "sharding/families.h"
#include "sharding/style.h"

namespace tp {
namespace {

constexpr std::string_view kBegin = "<!-- table of what works: made by tests/project/readme_table.cc -->\n";
constexpr std::string_view kEnd = "<!-- end of the table -->\n";

std::string quoted_list(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "`" : ", `") + name + "`";
  return list;
}

std::vector<std::string> model_types(bool verified) {
  std::vector<std::string> names;
  for (const std::string& name : known_model_types()) {
    if (find_family(name)->verified == verified) names.push_back(name);
  }
  return names;
}

std::vector<std::string> styles(bool supported) {
  std::vector<std::string> names;
  for (const StyleInfo& info : style_table()) {
    if (info.supported() == supported) names.emplace_back(info.name);
  }
  return names;
}

std::string table() {
  const std::vector<std::pair<std::string, std::vector<std::string>>> rows = {
      {"model families (`model_type`)", model_types(true)},
      {"families not yet checked against a reference", model_types(false)},
      {"styles of a plan", styles(true)},
      {"styles that are known and refused", styles(false)},
  };
  std::string text = "| what | works |\n|---|---|\n";
  for (const auto& [what, names] : rows) {
    if (!names.empty()) text += "| " + what + " | " + quoted_list(names) + " |\n";
  }
  return text;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int run(const std::string& mode, const std::string& path) {
  const std::string readme = read_file(path);
  const size_t begin = readme.find(kBegin);
  const size_t end = readme.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    std::cerr << path << ": the lines around the table are missing:\n" << kBegin << kEnd;
    return 1;
  }
  const std::string wanted = readme.substr(0, begin + kBegin.size()) + table() + readme.substr(end);
  if (mode == "--write") {
    std::ofstream(path, std::ios::binary) << wanted;
    return 0;
  }
  if (wanted == readme) return 0;
  std::cerr << path << ": the table of what works should be\n" << table() << "  fix: readme_table --write " << path << "\n";
  return 1;
}

}  // namespace
}  // namespace tp

int main(int argc, char** argv) {
  const std::string mode = argc == 3 ? argv[1] : "";
  if (mode != "--check" && mode != "--write") {
    std::cerr << "usage: readme_table --check|--write README.md\n";
    return 2;
  }
  return tp::run(mode, argv[2]);
}
