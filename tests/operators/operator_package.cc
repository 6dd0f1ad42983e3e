#include "tests/operators/operator_package.h"

#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "runtime/sha256.h"
#include "tests/fake_slice/chip_job.h"

namespace tp {
namespace fs = std::filesystem;
namespace {

// Base64 of a digest of 32 bytes, by the book: 6 bits a letter, one `=` at the end.
std::string base64_digest(const std::string& bytes) {
  const std::string hex = sha256_hex(bytes);
  const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bits, text;
  for (char c : hex) {
    const int digit = c <= '9' ? c - '0' : c - 'a' + 10;
    for (int bit = 3; bit >= 0; --bit) bits += (digit >> bit & 1) != 0 ? '1' : '0';
  }
  bits += "00";
  for (size_t at = 0; at < bits.size(); at += 6) text += letters[std::stoul(bits.substr(at, 6), nullptr, 2)];
  return text + "=";
}

}  // namespace

std::string torch_variant(int minor_step) {
  int major = 0, minor = 0;
  std::sscanf(TORCH_VERSION, "%d.%d", &major, &minor);
#if defined(__x86_64__)
  const std::string cpu = "cpu-x86_64-linux";
#else
  const std::string cpu = "cpu-aarch64-linux";
#endif
  return "torch" + std::to_string(major) + std::to_string(minor + minor_step) + "-cxx11-" + cpu;
}

std::string operator_namespace(const std::string& kind) {
  return kind == "stable" ? "_stable_rms_norm_1a2b3c4" : "_rms_norm_cpu_" + kind;
}

fs::path operator_package(const fs::path& dir, const std::string& kind, const std::string& variant) {
  const std::string id = operator_namespace(kind);
  const fs::path build = dir / "build" / (variant.empty() ? torch_variant() : variant);
  fs::create_directories(build);
  fs::copy_file(fs::path(OPERATOR_LIBRARIES) / ("liboperator_" + kind + ".so"), build / (id + ".abi3.so"));
  std::ofstream(build / "_ops.py") << "import torch\nfrom . import " << id << "\nops = torch.ops." << id << "\n";
  std::ofstream(build / "__init__.py") << "from ._ops import ops\n";
  nlohmann::json files;
  for (const std::string& name : {id + ".abi3.so", std::string("_ops.py"), std::string("__init__.py")})
    files[name] = base64_digest(file_text(build / name));
  std::ofstream(build / "metadata.json") << nlohmann::json{{"id", id},
                                                           {"name", "rms-norm"},
                                                           {"version", 1},
                                                           {"license", "Apache-2.0"},
                                                           {"python-depends", nlohmann::json::array()},
                                                           {"backend", {{"type", "cpu"}}},
                                                           {"digest", {{"algorithm", "sha256"}, {"files", files}}}};
  return dir;
}

}  // namespace tp
