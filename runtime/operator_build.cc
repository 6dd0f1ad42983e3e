#include "runtime/operator_build.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <regex>

#include "runtime/sha256.h"
#include "sharding/error.h"
#include "sharding/json_document.h"

namespace tp {
namespace fs = std::filesystem;
namespace {

constexpr const char* kMetadata = "metadata.json";
constexpr int64_t kLargestFile = int64_t{1} << 30;
#if defined(__x86_64__)
constexpr const char* kCpu = "cpu-x86_64-linux";
#else
constexpr const char* kCpu = "cpu-aarch64-linux";
#endif

struct TorchVersion {
  int major = 0, minor = 0;
  auto operator<=>(const TorchVersion&) const = default;
  std::string text() const { return std::to_string(major) + "." + std::to_string(minor); }
};

// Of the torch that tprun-rank is linked to.
TorchVersion own_torch() {
  TorchVersion version;
  std::sscanf(TPRUN_TORCH_VERSION, "%d.%d", &version.major, &version.minor);
  return version;
}

// A build for this processor: torchXY-… runs with torch X.Y alone, torch-stable-abiXY-… with X.Y and newer.
struct CpuBuild {
  std::string name;
  TorchVersion torch;
  bool stable = false;

  bool runs() const { return stable ? torch <= own_torch() : torch == own_torch(); }
};

std::optional<CpuBuild> cpu_build(const std::string& name) {
  static const std::regex form("torch(-stable-abi)?(\\d)(\\d+)(-cxx11)?-" + std::string(kCpu));
  std::smatch parts;
  if (!std::regex_match(name, parts, form)) return std::nullopt;
  return CpuBuild{name, {std::stoi(parts[2]), std::stoi(parts[3].str().substr(0, 4))}, parts[1].matched};
}

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// The build made for this very torch before those of the stable ABI, of which the newest.
CpuBuild choose_build(const fs::path& package) {
  const std::vector<std::string> names = build_names(package);
  std::vector<CpuBuild> builds;
  for (const std::string& name : names) {
    if (auto build = cpu_build(name)) builds.push_back(*build);
  }
  const std::string where = package.string();
  if (names.empty()) {
    throw Error(where, "has no library of operators for the CPU (build/torch…-" + std::string(kCpu) + ")",
                "StableHLO kernels are for chips; leave it out with --device cpu");
  }
  if (builds.empty()) {
    throw Error(where, "has no build for this CPU (" + std::string(kCpu) + "); it has " + list_of(names),
                "a version of the kernel that has one, or leave it out");
  }
  std::vector<std::string> others;
  const CpuBuild* best = nullptr;
  for (const CpuBuild& build : builds) {
    if (!build.runs()) {
      others.push_back(build.name);
    } else if (best == nullptr || std::pair(!build.stable, build.torch) > std::pair(!best->stable, best->torch)) {
      best = &build;
    }
  }
  if (best == nullptr) {
    throw Error(where, "was built for another torch than " + own_torch().text() + ", which runs here: " + list_of(others),
                "a version of the kernel with a build for torch " + own_torch().text() + ", or tprun with its torch");
  }
  return *best;
}

// The files of a build that its digest covers, by their paths in it.
std::map<std::string, fs::path> files_of(const fs::path& build) {
  std::map<std::string, fs::path> files;
  for (auto at = fs::recursive_directory_iterator(build); at != fs::recursive_directory_iterator(); ++at) {
    const std::string name = fs::relative(at->path(), build).string();
    if (at->path().filename() == "__pycache__") at.disable_recursion_pending();
    if (at->is_regular_file() && name != kMetadata && name != "metadata.json.sigstore") files[name] = at->path();
  }
  return files;
}

void require_digests(const OperatorBuild& build, const Json& metadata) {
  const std::string where = (build.dir / kMetadata).string(), fix = "get the kernel again";
  const Json* digest = metadata.contains("digest") ? &metadata["digest"] : nullptr;
  if (digest == nullptr || !digest->is_object() || !digest->contains("files") || !(*digest)["files"].is_object())
    throw Error(where, "has no digest of the build's files", "a version of the kernel that has one");
  if (digest->value("algorithm", Json()) != "sha256")
    throw Error(where, "its digest is of another algorithm than sha256", "a version of the kernel with a sha256 digest");
  const std::map<std::string, fs::path> files = files_of(build.dir);
  for (const auto& [name, path] : files) {
    if (!(*digest)["files"].contains(name)) throw Error(path.string(), "metadata.json knows no such file", fix);
    const std::string found = sha256_base64(read_text_file(path, kLargestFile));
    if (const Json& said = (*digest)["files"][name]; said != found)
      throw Error(path.string(), "has the digest " + found + ", metadata.json says " + said.dump(), fix);
  }
  for (const auto& [name, unused] : (*digest)["files"].items()) {
    if (!files.contains(name)) throw Error((build.dir / name).string(), "is missing, metadata.json names it", fix);
  }
}

// What its metadata.json says of a build.
OperatorBuild described_build(const fs::path& dir, const Json& metadata) {
  const auto text = [&](const char* name) {
    const Json value = metadata.is_object() ? metadata.value(name, Json()) : Json();
    if (value.is_number_integer()) return std::to_string(value.get<int64_t>());
    return value.is_string() ? value.get<std::string>() : std::string();
  };
  OperatorBuild build{
      .dir = dir, .id = text("id"), .name = text("name"), .version = text("version"), .license = text("license")};
  if (build.id.empty())
    throw Error((dir / kMetadata).string(), "has no `id`, the namespace of the operators", "get the kernel again");
  return build;
}

// A library of kernel-builder has an entry for Python, which nobody calls here, and needs nothing else of it.
void refuse_python(const OperatorBuild& build) {
  static constexpr std::array kOfTheEntry = {"PyModule_Create2", "PyModule_FromDefAndSpec2", "PyModuleDef_Init"};
  std::string need;
  for (const std::string& library : build.elf.needed) {
    if (library.starts_with("libpython") || library.starts_with("libtorch_python")) need = library;
  }
  for (const std::string& symbol : build.elf.undefined) {
    const bool python = symbol.starts_with("Py") || symbol.starts_with("_Py");
    if (need.empty() && python && std::ranges::find(kOfTheEntry, symbol) == kOfTheEntry.end()) need = symbol;
  }
  if (need.empty()) return;
  throw Error(build.library.string(), "needs Python (" + need + "), which does not run here",
              "a kernel whose operators are registered with TORCH_LIBRARY alone");
}

}  // namespace

std::vector<std::string> build_names(const fs::path& package) {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(package / "build", none)) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

OperatorBuild read_build_metadata(const fs::path& dir) {
  return described_build(dir, read_json_file(dir / kMetadata));
}

OperatorBuild find_operator_build(const fs::path& package) {
  const fs::path dir = package / "build" / choose_build(package).name;
  const Json metadata = read_json_file(dir / kMetadata);
  OperatorBuild build = described_build(dir, metadata);
  require_digests(build, metadata);
  std::vector<std::string> libraries;
  for (const auto& [name, path] : files_of(dir)) {
    if (path.extension() != ".so") continue;
    libraries.push_back(name);
    build.library = path;
  }
  if (libraries.size() != 1)
    throw Error(dir.string(), "has " + std::to_string(libraries.size()) + " libraries, not 1", "get the kernel again");
  build.elf = read_elf_library(read_text_file(build.library, kLargestFile), build.library.string());
  refuse_python(build);
  return build;
}

}  // namespace tp
