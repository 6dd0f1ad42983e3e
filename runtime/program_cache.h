#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace tp {

// Compiled programs on disk (--compile-cache DIR), one file each. What cannot be read or written costs a warning and never
// gives a wrong program: a file tells the whole key that it is for and a checksum of its content.
class ProgramCache {
 public:
  using Warn = std::function<void(const std::string& text)>;

  // An empty directory name: nothing is kept.
  ProgramCache(std::filesystem::path directory, Warn warn);

  bool enabled() const { return !directory_.empty(); }

  // `key` = all that the compiled bytes depend on. nullopt when there is no such file or, with a warning, not a sound one.
  std::optional<std::string> find(const std::string& key) const;
  // Written aside and renamed, so that ranks that share the directory see whole files only.
  void store(const std::string& key, const std::string& bytes);
  // For the caller that could not load what find gave.
  void warn_unusable(const std::string& key, const std::string& reason) const;

 private:
  std::filesystem::path file_of(const std::string& key) const;

  std::filesystem::path directory_;
  Warn warn_;
  bool writable_ = true;  // until a write failed: one warning is enough
};

}  // namespace tp
