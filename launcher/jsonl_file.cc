#include "launcher/jsonl_file.h"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <vector>

#include "sharding/error.h"
#include "sharding/near_names.h"

namespace tp {
namespace {

constexpr size_t kExplainedLines = 20;

// A line that is bad.
struct Problem {
  int64_t line;
  std::string text;
};

// Every line by its number, the first ones with what is wrong: "23, 25-31".
std::string list_of(const std::vector<Problem>& problems) {
  std::string text = std::to_string(problems.size()) + (problems.size() == 1 ? " bad line" : " bad lines");
  const size_t explained = std::min(problems.size(), kExplainedLines);
  for (size_t i = 0; i < explained; ++i) text += "\n  " + problems[i].text;
  for (size_t i = explained, end = i; i < problems.size(); i = end) {
    while (end < problems.size() && problems[end].line == problems[i].line + static_cast<int64_t>(end - i)) ++end;
    text += (i == explained ? "\n  and lines " : ", ") + std::to_string(problems[i].line);
    if (end > i + 1) text += "-" + std::to_string(problems[end - 1].line);
  }
  return text;
}

Json parse_line(const std::string& line) {
  try {
    Json value = parse_json(line, "");
    if (!value.is_object()) throw Error("", "is not a JSON object");
    return value;
  } catch (const Error& error) {
    // The place within the line is ":1:column".
    const size_t colon = error.where().rfind(':');
    const std::string column = colon == std::string::npos ? "" : "column " + error.where().substr(colon + 1) + ": ";
    throw Error("", column + error.message());
  }
}

}  // namespace

void read_jsonl(const std::string& path, const std::function<void(const Json& object, const std::string& text)>& take,
                const std::function<void(const std::string& problem)>& pass_over) {
  std::ifstream file;
  std::error_code ignored;
  if (path != "-") {
    if (std::filesystem::is_directory(path, ignored))
      throw Error(path, "is a directory", "give a file of one JSON object per line");
    file.open(path);
    if (!file) throw Error(path, "cannot be read", "give a file of one JSON object per line");
  }
  std::istream& in = path == "-" ? std::cin : file;
  const std::string name = path == "-" ? "standard input" : path;
  std::vector<Problem> problems;
  int64_t number = 0, objects = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    ++objects;
    try {
      take(parse_line(line), line);
    } catch (const Error& error) {
      std::string problem =
          "line " + std::to_string(number) + ": " + (error.where().empty() ? "" : error.where() + ": ") + error.message();
      if (pass_over) {
        pass_over(problem);
      } else {
        problems.push_back({number, std::move(problem)});
      }
    }
  }
  if (!problems.empty()) throw Error(name, list_of(problems), "mend these lines; nothing was started");
  if (objects == 0) throw Error(name, "has no line", "one JSON object per line");
}

void require_known_keys(const Json& object, const std::vector<std::string>& known) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::string near = did_you_mean(key, known);
    throw Error("", "unknown key `" + key + "`" + (near.empty() ? "" : "; " + near));
  }
}

}  // namespace tp
