#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/fake_slice/rank_process.h"

namespace tp {

// A directory that goes away with the object.
class WorkDir {
 public:
  WorkDir();
  ~WorkDir();
  WorkDir(const WorkDir&) = delete;
  WorkDir& operator=(const WorkDir&) = delete;
  std::string operator/(const std::string& name) const { return dir_ / name; }

 private:
  std::filesystem::path dir_;
};

// `tprun` with these arguments: on the CPU, or on `ranks` chips of the fake slice. `environment` is added to the test's own.
RankProcess tprun_on_cpu(const std::vector<std::string>& arguments);
RankProcess tprun_on_chips(int ranks, const std::vector<std::string>& arguments,
                           const std::map<std::string, std::string>& environment = {});

// What four ranks need to share the two KV heads of a model; nothing for fewer ranks.
std::vector<std::string> shared_kv_heads(int ranks);

std::string file_text(const std::filesystem::path& path);
// A file of one JSON object, or of one a line.
nlohmann::json json_file(const std::filesystem::path& path);
std::vector<nlohmann::json> json_lines(const std::filesystem::path& path);

}  // namespace tp
