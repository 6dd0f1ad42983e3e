#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "sharding/checkpoint.h"
#include "sharding/families.h"
#include "sharding/json_document.h"
#include "tests/sharding/golden_models.h"

namespace tp {
namespace {

// Every tensor that the module tree of `config` wants, with its shape; a tied head has none of its own.
std::map<std::string, std::vector<int64_t>> wanted_tensors(const ModelConfig& config, const Checkpoint& checkpoint) {
  std::map<std::string, std::vector<int64_t>> wanted;
  for (const ModuleSpec& module : module_tree(config)) {
    const bool tied = module.role == Role::kLmHead && config.tie_word_embeddings;
    if (module.has_bias) wanted[module.bias_name()] = {module.weight_shape[0]};
    if (!module.has_weight || tied) continue;
    const bool apart = !checkpoint.find(module.weight_name()) && !module.per_expert.empty();
    if (!apart) {
      const bool renamed = !checkpoint.find(module.weight_name()) && !module.stored_name.empty();
      wanted[renamed ? module.stored_name : module.weight_name()] = module.weight_shape;
      continue;
    }
    const auto parts = static_cast<int64_t>(module.per_expert.size());
    for (int64_t expert = 0; expert < module.weight_shape[0]; ++expert) {
      for (std::string name : module.per_expert) {
        name.replace(name.find('*'), 1, std::to_string(expert));
        wanted[name] = {module.weight_shape[1] / parts, module.weight_shape[2]};
      }
    }
  }
  return wanted;
}

class FamilyGoldens : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(FamilyGoldens, ModuleTreeIsWhatTheFileHolds) {
  const ModelConfig config = load_model_config(GetParam());
  EXPECT_THAT(config.warnings, testing::IsEmpty());
  const Checkpoint checkpoint = open_checkpoint(GetParam());
  std::map<std::string, std::vector<int64_t>> stored;
  for (const auto& [name, tensor] : checkpoint.tensors) stored[name] = tensor.entry.shape;
  EXPECT_EQ(stored, wanted_tensors(config, checkpoint));
  require_tensors(checkpoint, module_tree(config), config);
  EXPECT_THAT(unused_tensors(checkpoint, module_tree(config)), testing::IsEmpty());
}

std::vector<std::filesystem::path> supported_goldens() {
  std::vector<std::filesystem::path> dirs;
  for (const std::filesystem::path& dir : golden_models()) {
    const Json config = read_json_file(dir / "config.json");
    if (find_family(config.at("model_type").get<std::string>())) dirs.push_back(dir);
  }
  return dirs;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FamilyGoldens);
INSTANTIATE_TEST_SUITE_P(Goldens, FamilyGoldens, testing::ValuesIn(supported_goldens()),
                         [](const auto& one) { return one.param.filename().string(); });

TEST(FamilyGoldens, AreThere) {
  if (golden_models().empty()) GTEST_SKIP() << "no reference models in ../shared/goldens/models beside the project";
  EXPECT_GE(golden_models().size(), 28u);
}

}  // namespace
}  // namespace tp
