#include "sharding/error.h"

namespace tp {
namespace {

std::string joined(const std::string& where, const std::string& message, const std::string& fix) {
  std::string text = where.empty() ? message : where + ": " + message;
  if (!fix.empty()) text += "\n  fix: " + fix;
  return text;
}

}  // namespace

Error::Error(std::string where, std::string what, std::string fix)
    : std::runtime_error(joined(where, what, fix)), where_(std::move(where)), message_(std::move(what)), fix_(std::move(fix)) {}

std::string Error::text() const {
  return what();
}

void throw_all(const std::vector<Error>& problems) {
  if (problems.size() == 1) throw problems.front();
  // A main prints "tprun: error: " before the text; every further problem gets its own, so that each line can be found.
  std::string text;
  for (const Error& problem : problems) text += (text.empty() ? "" : "\ntprun: error: ") + problem.text();
  throw Error("", text);
}

}  // namespace tp
