#include "tests/fake_slice/chip_job.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace tp {
namespace {

RankProcess tprun(std::vector<std::string> command, const std::vector<std::string>& arguments,
                  std::map<std::string, std::string> environment) {
  command.insert(command.begin(), TPRUN);
  command.insert(command.end(), arguments.begin(), arguments.end());
  environment["OMPI_ALLOW_RUN_AS_ROOT"] = environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1";
  environment.try_emplace("XLA_FLAGS", QUICK_XLA_FLAGS);
  return {command, environment};
}

}  // namespace

WorkDir::WorkDir() {
  std::string name = std::filesystem::temp_directory_path() / "tprun-test-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
  dir_ = name;
}

WorkDir::~WorkDir() {
  std::error_code ignored;
  std::filesystem::remove_all(dir_, ignored);
}

RankProcess tprun_on_cpu(const std::vector<std::string>& arguments) {
  return tprun({"--device", "cpu", "--quiet"}, arguments, {});
}

RankProcess tprun_on_chips(int ranks, const std::vector<std::string>& arguments,
                           const std::map<std::string, std::string>& environment) {
  return tprun({"--device", "tpu", "--pjrt-plugin", FAKE_SLICE, "-n", std::to_string(ranks)}, arguments, environment);
}

std::vector<std::string> shared_kv_heads(int ranks) {
  if (ranks < 4) return {};
  return {"--override", "layers.*.self_attn.k_proj=kv_replicated", "--override", "layers.*.self_attn.v_proj=kv_replicated"};
}

std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

nlohmann::json json_file(const std::filesystem::path& path) {
  return nlohmann::json::parse(file_text(path));
}

std::vector<nlohmann::json> json_lines(const std::filesystem::path& path) {
  std::istringstream text(file_text(path));
  std::vector<nlohmann::json> objects;
  for (std::string line; std::getline(text, line);) objects.push_back(nlohmann::json::parse(line));
  return objects;
}

}  // namespace tp
