#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "sharding/families.h"
#include "sharding/json_document.h"
#include "sharding/parameters.h"

namespace tp {
namespace {

using Shapes = std::map<std::string, std::vector<int64_t>>;

// family_trees.json, which make_family_trees.py writes with transformers.
const Json& reference() {
  static const Json trees = read_json_file(std::string(TPRUN_SOURCE_DIR) + "/tests/sharding/family_trees.json");
  return trees;
}

class FamilyTrees : public testing::TestWithParam<std::string> {};

TEST_P(FamilyTrees, HasTheParametersOfTransformers) {
  ASSERT_TRUE(reference().contains(GetParam()));
  const Json& entry = reference().at(GetParam());
  const ModelConfig config = parse_model_config(entry.at("config").dump(), "config.json");
  for (const std::string& warning : config.warnings) {
    EXPECT_THAT(warning, testing::EndsWith("has not been checked against a reference"));
  }
  Shapes ours;
  for (const ModuleSpec& module : module_tree(config)) {
    if (module.has_weight) ours[module.weight_name()] = module.weight_shape;
    if (module.has_bias) ours[module.bias_name()] = {module.weight_shape[0]};
  }
  EXPECT_EQ(ours, entry.at("parameters").get<Shapes>());
}

INSTANTIATE_TEST_SUITE_P(Families, FamilyTrees, testing::ValuesIn(known_model_types()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace tp
