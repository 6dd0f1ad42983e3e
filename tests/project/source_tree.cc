#include "tests/project/source_tree.h"

#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

namespace fs = std::filesystem;

namespace tp {

SourceTree read_source_tree(const fs::path& root) {
  static const std::set<std::string> kNotOurs = {"build", ".venv", ".git", "__pycache__", ".cache"};
  SourceTree tree;
  for (auto it = fs::recursive_directory_iterator(root); it != fs::recursive_directory_iterator(); ++it) {
    if (kNotOurs.contains(it->path().filename().string())) {
      it.disable_recursion_pending();
      continue;
    }
    if (!it->is_regular_file()) continue;
    std::ifstream file(it->path(), std::ios::binary);
    tree[fs::relative(it->path(), root).generic_string()] = {std::istreambuf_iterator<char>(file), {}};
  }
  return tree;
}

bool is_cpp(const std::string& path) {
  return path.ends_with(".h") || path.ends_with(".cc");
}

std::vector<std::string> includes_of(const std::string& content) {
  static const std::regex kInclude(R"(^\s*#\s*include\s*[<"]([^>"]+)[>"])");
  std::vector<std::string> found;
  std::istringstream lines(content);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_search(line, match, kInclude)) found.push_back(match[1]);
  }
  return found;
}

std::set<std::string> included_by(const SourceTree& tree, const std::string& path) {
  std::set<std::string> seen;
  std::vector<std::string> todo = {path};
  while (!todo.empty()) {
    const auto file = tree.find(todo.back());
    todo.pop_back();
    if (file == tree.end()) continue;
    for (const std::string& name : includes_of(file->second)) {
      if (seen.insert(name).second) todo.push_back(name);
    }
  }
  return seen;
}

std::set<std::string> sources_of_target(const SourceTree& tree, const std::string& cmake_list, const std::string& target) {
  const std::string& text = tree.at(cmake_list);
  const std::string room = fs::path(cmake_list).parent_path().generic_string();
  std::set<std::string> sources;
  static const std::regex kCall(R"((tp_library|add_library|add_executable|target_sources)\s*\(\s*([\w-]+)([^)]*)\))");
  static const std::regex kSource(R"([\w./-]+\.cc\b)");
  for (auto call = std::sregex_iterator(text.begin(), text.end(), kCall); call != std::sregex_iterator(); ++call) {
    if ((*call)[2] != target) continue;
    const std::string arguments = (*call)[3];
    for (auto s = std::sregex_iterator(arguments.begin(), arguments.end(), kSource); s != std::sregex_iterator(); ++s) {
      sources.insert(room + "/" + s->str());
    }
  }
  return sources;
}

}  // namespace tp
