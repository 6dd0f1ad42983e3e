#include "runtime/program_cache.h"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace tp {
namespace {

std::string hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(value));
  return text;
}

// 128 bits: two FNV-1a hashes with different offsets.
std::string fingerprint(const std::string& bytes) {
  uint64_t a = 0xcbf29ce484222325ULL, b = 0x84222325cbf29ce4ULL;
  for (unsigned char byte : bytes) {
    a = (a ^ byte) * 0x100000001b3ULL;
    b = (b ^ byte) * 0x100000001b3ULL + 1;
  }
  return hex(a) + hex(b);
}

std::string header_of(const std::string& key, const std::string& bytes) {
  return "tprun program 1 " + fingerprint(key) + " " + fingerprint(bytes) + "\n";
}

}  // namespace

ProgramCache::ProgramCache(std::filesystem::path directory, Warn warn)
    : directory_(std::move(directory)), warn_(std::move(warn)) {}

std::filesystem::path ProgramCache::file_of(const std::string& key) const {
  return directory_ / (fingerprint(key) + ".pjrt");
}

std::optional<std::string> ProgramCache::find(const std::string& key) const {
  if (directory_.empty()) return std::nullopt;
  std::ifstream file(file_of(key), std::ios::binary);
  if (!file) return std::nullopt;
  std::stringstream content;
  content << file.rdbuf();
  const std::string all = content.str();
  const size_t line = all.find('\n');
  const std::string bytes = line == std::string::npos ? "" : all.substr(line + 1);
  if (line != std::string::npos && all.substr(0, line + 1) == header_of(key, bytes)) return bytes;
  warn_unusable(key, "it is damaged or another program's");
  return std::nullopt;
}

void ProgramCache::store(const std::string& key, const std::string& bytes) {
  if (directory_.empty() || !writable_) return;
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  const std::filesystem::path target = file_of(key);
  std::filesystem::path aside = target;
  aside += "." + std::to_string(getpid()) + ".tmp";
  std::ofstream file(aside, std::ios::binary);
  file << header_of(key, bytes) << bytes;
  file.close();
  if (file) std::filesystem::rename(aside, target, error);
  if (file && !error) return;
  std::filesystem::remove(aside, error);
  writable_ = false;
  warn_("--compile-cache: cannot write " + target.string() + ": programs will be compiled again next time");
}

void ProgramCache::warn_unusable(const std::string& key, const std::string& reason) const {
  warn_("--compile-cache: " + file_of(key).string() + " is not used: " + reason);
}

}  // namespace tp
