// The tables in README.md and docs/ that are made from the tables of the code.
//
//   doc_tables --check ROOT    exit 1 if a page has another one
//   doc_tables --write ROOT    puts them there
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "launcher/help.h"
#include "sharding/families.h"
#include "sharding/style.h"

namespace tp {
namespace {

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

std::string what_works() {
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

// A page and the table between its lines "<!-- NAME: made by … -->" and "<!-- end of NAME -->".
struct DocTable {
  std::string page, name, text;
};

bool check_or_write(const DocTable& table, const std::filesystem::path& root, bool write) {
  const std::string path = (root / table.page).string();
  const std::string page = read_file(path);
  const std::string first = "<!-- " + table.name + ": made by tests/project/doc_tables.cc -->\n";
  const std::string last = "<!-- end of " + table.name + " -->\n";
  const size_t begin = page.find(first), end = page.find(last);
  if (begin == std::string::npos || end == std::string::npos || end < begin) {
    std::cerr << path << ": the lines around the table are missing:\n" << first << last;
    return false;
  }
  const std::string wanted = page.substr(0, begin + first.size()) + table.text + page.substr(end);
  if (write) std::ofstream(path, std::ios::binary) << wanted;
  if (write || wanted == page) return true;
  std::cerr << path << ": the table \"" << table.name << "\" is not what the code says, which is\n"
            << table.text << "  fix: build/tests/project/doc_tables --write " << root.string() << "\n";
  return false;
}

int run(const std::filesystem::path& root, bool write) {
  bool good = true;
  for (const DocTable& table :
       {DocTable{"README.md", "what works", what_works()}, DocTable{"docs/options.md", "options", option_docs()}}) {
    good = check_or_write(table, root, write) && good;
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace tp

int main(int argc, char** argv) {
  const std::string mode = argc == 3 ? argv[1] : "";
  if (mode != "--check" && mode != "--write") {
    std::cerr << "usage: doc_tables --check|--write ROOT\n";
    return 2;
  }
  return tp::run(argv[2], mode == "--write");
}
