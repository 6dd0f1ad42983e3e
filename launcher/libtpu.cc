#include "launcher/libtpu.h"

#include <glob.h>

#include <filesystem>

#include "launcher/options_environment.h"
#include "sharding/error.h"

namespace tp {
namespace {

// The first file that the pattern matches; empty when there is none.
std::string first_match(const std::string& pattern) {
  glob_t found{};
  const bool any = glob(pattern.c_str(), 0, nullptr, &found) == 0 && found.gl_pathc > 0;
  const std::string path = any ? found.gl_pathv[0] : "";
  globfree(&found);
  return path;
}

}  // namespace

std::vector<std::string> libtpu_places() {
  const std::string packages = "/lib/python3*/site-packages/libtpu/libtpu.so";
  std::vector<std::string> places;
  if (const auto venv = environment("VIRTUAL_ENV"); venv && !venv->empty()) places.push_back(*venv + packages);
  places.push_back(TPRUN_VENV + packages);
  if (const auto home = environment("HOME"); home && !home->empty()) places.push_back(*home + "/.local" + packages);
  places.push_back("/usr/local/lib/python3*/dist-packages/libtpu/libtpu.so");
  places.push_back("/usr/local" + packages);
  return places;
}

std::string find_libtpu() {
  const std::string fix = "pip install libtpu; or give its file: --pjrt-plugin FILE";
  if (const auto named = environment("TPU_LIBRARY_PATH"); named && !named->empty()) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(*named, ignored)) throw Error("TPU_LIBRARY_PATH", "no such file: " + *named, fix);
    return std::filesystem::absolute(*named).string();
  }
  std::string looked_for;
  for (const std::string& place : libtpu_places()) {
    const std::string path = first_match(place);
    if (!path.empty()) return path;
    looked_for += ", " + place;
  }
  throw Error("libtpu", "was not found; looked for TPU_LIBRARY_PATH (not set)" + looked_for, fix);
}

std::string libtpu_version(const std::string& path) {
  const std::filesystem::path file(path);
  if (file.filename() != "libtpu.so") return "";
  const std::string notes = first_match((file.parent_path().parent_path() / "libtpu-*.dist-info").string());
  const size_t begin = notes.rfind("libtpu-") + 7, end = notes.rfind(".dist-info");
  return notes.empty() ? "" : notes.substr(begin, end - begin);
}

std::string describe_libtpu() {
  try {
    return find_libtpu();
  } catch (const Error& error) {
    return error.where() + ": " + error.message();
  }
}

}  // namespace tp
