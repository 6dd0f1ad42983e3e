#include "launcher/model_path.h"

#include <algorithm>

#include "launcher/options_environment.h"
#include "sharding/error.h"
#include "sharding/json_document.h"

namespace tp {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kLongestRef = 256;

fs::path hub_cache() {
  if (const auto cache = environment("HF_HUB_CACHE")) return *cache;
  if (const auto home = environment("HF_HOME")) return fs::path(*home) / "hub";
  if (const auto cache = environment("XDG_CACHE_HOME")) return fs::path(*cache) / "huggingface" / "hub";
  return fs::path(environment("HOME").value_or("/")) / ".cache" / "huggingface" / "hub";
}

// The newest of the branches v1, v2, … that a kernel's repository has in the place of main; empty when there is none.
std::string newest_version(const fs::path& refs) {
  int64_t newest = 0;
  std::error_code none;
  for (const auto& ref : fs::directory_iterator(refs, none)) {
    const std::string name = ref.path().filename().string();
    const std::string number = name.substr(1);
    const bool version =
        name[0] == 'v' && !number.empty() && number.size() < 10 && number.find_first_not_of("0123456789") == std::string::npos;
    if (version) newest = std::max<int64_t>(newest, std::stoll(number));
  }
  return newest == 0 ? "" : "v" + std::to_string(newest);
}

// Where the cache keeps a repository; `kind` is "models" or "kernels".
fs::path repository_path(const std::string& kind, const std::string& name) {
  const size_t slash = name.find('/');
  return hub_cache() / (kind + "--" + name.substr(0, slash) + "--" + name.substr(slash + 1));
}

// `where` is the option that names it.
fs::path cached_repository(const std::string& kind, const std::string& name, const std::string& where) {
  const fs::path repo = repository_path(kind, name);
  const std::string fix = "download it first (`hf download " + name + "`), or give its directory";
  std::error_code ignored;
  const std::string ref = fs::exists(repo / "refs" / "main", ignored) ? "main" : newest_version(repo / "refs");
  if (ref.empty()) {
    throw Error(where, name + " is neither a directory nor in the Hugging Face cache (looked for " + repo.string() + ")", fix);
  }
  std::string revision = read_text_file(repo / "refs" / ref, kLongestRef);
  std::erase_if(revision, [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; });
  const fs::path snapshot = repo / "snapshots" / revision;
  if (revision.find('/') != std::string::npos || revision.starts_with('.'))
    throw Error((repo / "refs" / ref).string(), "`" + revision + "` is not the name of a snapshot", fix);
  if (revision.empty() || !fs::is_directory(snapshot, ignored)) {
    throw Error(where, "the Hugging Face cache has no files of " + name + " (looked for " + snapshot.string() + ")", fix);
  }
  return snapshot;
}

// org/name
bool is_repository_name(const std::string& name) {
  return std::count(name.begin(), name.end(), '/') == 1 && name.front() != '/' && name.front() != '.' && name.back() != '/';
}

}  // namespace

std::string resolve_kernels(const std::string& package, const std::string& where) {
  std::error_code ignored;
  if (package.empty()) throw Error(where, "is empty", "give the directory of a kernel package");
  if (fs::is_directory(package, ignored)) return fs::absolute(package).string();
  if (is_repository_name(package)) {
    // Kernels have repositories of their own kind; older ones are models.
    const bool model = fs::is_directory(repository_path("models", package), ignored) &&
                       !fs::is_directory(repository_path("kernels", package), ignored);
    return cached_repository(model ? "models" : "kernels", package, where).string();
  }
  throw Error(where, "no such directory: " + package, "give the directory of a kernel package, or org/name");
}

fs::path resolve_model(const std::string& model, bool file_allowed) {
  if (model.empty()) throw Error("--model", "is needed", "--model DIR, or --model org/name");
  std::error_code ignored;
  if (fs::is_directory(model, ignored)) return model;
  if (fs::exists(model, ignored)) {
    if (file_allowed) return model;
    throw Error("--model", model + " is a file", "give the directory that holds config.json and the weights");
  }
  if (is_repository_name(model)) return cached_repository("models", model, "--model");
  throw Error("--model", "no such directory: " + model, "give the directory that holds config.json and the weights");
}

}  // namespace tp
