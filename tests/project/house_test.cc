// The rules of CONTRIBUTING.md that a program can check.
#include <gmock/gmock.h>

#include <algorithm>
#include <regex>

#include "tests/project/source_tree.h"

namespace tp {
namespace {

using testing::IsEmpty;
namespace fs = std::filesystem;

const SourceTree& project() {
  static const SourceTree tree = read_source_tree(TPRUN_SOURCE_DIR);
  return tree;
}

bool is_third_party(const std::string& path) {
  return path.starts_with("third_party/");
}

// Text that people write: everything but data, the license and other projects' headers.
bool is_text(const std::string& path) {
  static const std::regex kText(R"(.*(\.(h|cc|cmake|txt|md|sh|py|ya?ml)|/run|Presets\.json|\.clang-[a-z]+)$)");
  return std::regex_match(path, kText) && !is_third_party(path);
}

// Files whose lines match, as "path:line: text".
std::vector<std::string> lines_matching(const std::regex& pattern) {
  std::vector<std::string> found;
  for (const auto& [path, content] : project()) {
    if (!is_text(path) || path == "tests/project/house_test.cc") continue;
    std::istringstream lines(content);
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      if (std::regex_search(line, pattern)) found.push_back(path + ":" + std::to_string(number) + ": " + line);
    }
  }
  return found;
}

TEST(House, NothingIsLeftForLater) {
  EXPECT_THAT(lines_matching(std::regex(R"(\b(TODO|FIXME|XXX)\b)")), IsEmpty());
}

// A path or host of one machine means nothing on another.
TEST(House, NoMachineIsNamed) {
  EXPECT_THAT(lines_matching(std::regex(R"((^|[^\w./])/(work|opt/wheels|opt/pypi|root)(/|\b)|/home/\w+|refvenv)")), IsEmpty());
  EXPECT_THAT(lines_matching(std::regex(R"(pypi\.org|pythonhosted|download\.pytorch|deb\.debian|archive\.ubuntu)")), IsEmpty());
}

TEST(House, FilesAreShort) {
  // Tables and cases that are one list, longer than 400 lines because the thing they list is.
  static const std::set<std::string> kLongForAReason = {"sharding/families.cc"};
  std::vector<std::string> too_long;
  for (const auto& [path, content] : project()) {
    const auto lines = std::count(content.begin(), content.end(), '\n');
    if (is_text(path) && lines > 400 && !kLongForAReason.contains(path))
      too_long.push_back(path + ": " + std::to_string(lines));
  }
  EXPECT_THAT(too_long, IsEmpty());
}

TEST(House, FilesAreNamedByWhatTheyHold) {
  static const std::regex kVague(R"((^|.*[/_])(utils?|common|helpers?|misc)(_.*)?\.(h|cc|py|sh))");
  std::vector<std::string> vague;
  for (const auto& [path, content] : project()) {
    if (std::regex_match(path, kVague) && !is_third_party(path)) vague.push_back(path);
  }
  EXPECT_THAT(vague, IsEmpty());
}

TEST(House, HeadersAreIncludedOnce) {
  std::vector<std::string> unguarded;
  for (const auto& [path, content] : project()) {
    if (path.ends_with(".h") && !is_third_party(path) && content.find("#pragma once") == std::string::npos)
      unguarded.push_back(path);
  }
  EXPECT_THAT(unguarded, IsEmpty());
}

TEST(House, LinksInPagesLeadSomewhere) {
  static const std::regex kLink(R"(\]\(([^)#\s]+)[^)]*\))");
  std::vector<std::string> broken;
  for (const auto& [path, content] : project()) {
    if (!path.ends_with(".md") || is_third_party(path)) continue;
    for (auto link = std::sregex_iterator(content.begin(), content.end(), kLink); link != std::sregex_iterator(); ++link) {
      const std::string target = (*link)[1];
      if (target.find("://") != std::string::npos) continue;
      if (!fs::exists(fs::path(TPRUN_SOURCE_DIR) / fs::path(path).parent_path() / target))
        broken.push_back(path + ": " + target);
    }
  }
  EXPECT_THAT(broken, IsEmpty());
}

// tests/README.md says which tests keep what others met from happening here.
TEST(House, TestsThatThePageNamesExist) {
  static const std::regex kTest(R"(TEST(?:_[FP])?\((\w+), (\w+)\))"), kNamed(R"(`([A-Z]\w+\.[A-Z]\w+)`)");
  std::set<std::string> tests;
  for (const auto& [path, content] : project()) {
    if (!path.starts_with("tests/") || !path.ends_with(".cc")) continue;
    for (auto test = std::sregex_iterator(content.begin(), content.end(), kTest); test != std::sregex_iterator(); ++test)
      tests.insert((*test)[1].str() + "." + (*test)[2].str());
  }
  const std::string page = project().at("tests/README.md");
  std::vector<std::string> missing;
  int named = 0;
  for (auto name = std::sregex_iterator(page.begin(), page.end(), kNamed); name != std::sregex_iterator(); ++name, ++named)
    if (!tests.contains((*name)[1].str())) missing.push_back((*name)[1].str());
  EXPECT_THAT(missing, IsEmpty());
  EXPECT_GE(named, 20);
}

TEST(House, CommittedDataIsSmall) {
  size_t data_bytes = 0;
  for (const auto& [path, content] : project()) {
    if (!is_text(path)) data_bytes += content.size();
  }
  EXPECT_LE(data_bytes, 12'000'000u);
}

}  // namespace
}  // namespace tp
