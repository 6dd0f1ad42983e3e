#include "sharding/plan_yaml.h"

#include <gmock/gmock.h>

#include <fstream>
#include <map>

#include "sharding/error.h"
#include "sharding/plan_kernels.h"
#include "sharding/quantization.h"
#include "tests/sharding/toy_model.h"

namespace tp {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::filesystem::path kPlans = std::filesystem::path(TPRUN_SOURCE_DIR) / "plans";

ModelConfig config_of(const std::string& model_type) {
  ModelConfig config;
  config.model_type = model_type;
  config.path = "config.json";
  return config;
}

// A plan file named my.yaml in the current folder, so that messages are short.
class PlanYaml : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    dir_ = std::filesystem::temp_directory_path() / (std::string("tprun_plan_") + info->name());
    std::filesystem::create_directories(dir_);
    before_ = std::filesystem::current_path();
    std::filesystem::current_path(dir_);
  }
  void TearDown() override {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(dir_);
  }

  static Plan load(const std::string& yaml, const std::string& model_type = "llama", std::vector<std::string> overrides = {}) {
    std::ofstream("my.yaml") << yaml;
    return load_plan({.plan = "my.yaml", .overrides = std::move(overrides)}, config_of(model_type), kPlans);
  }

  static std::string message(const std::string& yaml, std::vector<std::string> overrides = {}) {
    try {
      load(yaml, "llama", std::move(overrides));
    } catch (const Error& e) {
      return e.text();
    }
    return "accepted";
  }

  // Style of each module of the toy model by name.
  static std::map<std::string, Style> styles(const Plan& plan) {
    std::map<std::string, Style> found;
    for (const PlannedModule& planned : resolve_plan(plan, ToyModel().modules(), 2).modules) {
      found[planned.module.name] = planned.style;
    }
    return found;
  }

  static std::string resolve_message(const std::string& yaml, std::vector<std::string> overrides = {}) {
    try {
      resolve_plan(load(yaml, "llama", std::move(overrides)), ToyModel().modules(), 2);
    } catch (const Error& e) {
      return e.text();
    }
    return "accepted";
  }

 private:
  std::filesystem::path dir_, before_;
};

TEST_F(PlanYaml, DefaultPlanOfTheFamily) {
  const Plan plan = load_plan({}, config_of("mistral"), kPlans);
  EXPECT_EQ(plan.name, "default plan of mistral");
  EXPECT_EQ(plan.tied, TiedWeights::kReject);
  const std::map<std::string, Style> found = styles(plan);
  EXPECT_EQ(found.at("model.embed_tokens"), Style::kEmbeddingRowwise);
  EXPECT_EQ(found.at("model.layers.1.self_attn.q_proj"), Style::kColwise);
  EXPECT_EQ(found.at("model.layers.1.self_attn.o_proj"), Style::kRowwise);
  EXPECT_EQ(found.at("model.layers.1.input_layernorm"), Style::kReplicated);
  EXPECT_EQ(found.at("lm_head"), Style::kColwiseGatherOutput);
}

TEST_F(PlanYaml, RulesKnowWhereTheyWereWritten) {
  const Plan plan = load("version: 1\ntp_plan:\n  lm_head: replicated\n");
  EXPECT_EQ(plan.rules.front().where, "plans/llama.yaml:4:3");
  EXPECT_EQ(plan.rules.back().where, "my.yaml:3:3");
  EXPECT_EQ(plan.rules.back().source, RuleSource::kFile);
}

TEST_F(PlanYaml, OverridesKeepTheOtherRules) {
  const std::map<std::string, Style> found =
      styles(load("version: 1\ntied_weights: untie\ntp_plan:\n  layers.*.mlp.down_proj: rowwise_split_input\n"));
  EXPECT_EQ(found.at("model.layers.0.mlp.down_proj"), Style::kRowwiseSplitInput);
  EXPECT_EQ(found.at("model.layers.0.mlp.up_proj"), Style::kColwise);
}

TEST_F(PlanYaml, ReadsTheOtherKeys) {
  const Plan plan = load("version: 1\nextends: qwen3\ntied_weights: vocab_parallel\nuneven: allow\n");
  EXPECT_EQ(plan.tied, TiedWeights::kVocabParallel);
  EXPECT_TRUE(plan.uneven);
  EXPECT_EQ(plan.rules[3].where, "plans/qwen3.yaml:7:3");
}

TEST_F(PlanYaml, TheCommandLineWins) {
  std::ofstream("my.yaml") << "tied_weights: untie\ntp_plan:\n  lm_head: replicated\n";
  const Plan plan = load_plan({"my.yaml", {"lm_head=rowwise_split_input"}, TiedWeights::kReject}, config_of("llama"), kPlans);
  EXPECT_EQ(plan.tied, TiedWeights::kReject);
  EXPECT_EQ(styles(plan).at("lm_head"), Style::kRowwiseSplitInput);
  EXPECT_EQ(plan.rules.back().where, "--override lm_head=rowwise_split_input");
}

TEST_F(PlanYaml, ABareMappingIsAPlan) {
  const Plan plan = load("{\"model.layers.*.mlp.down_proj\": \"replicate\", \"lm_head\": \"replicated\"}");
  EXPECT_EQ(styles(plan).at("model.layers.1.mlp.down_proj"), Style::kReplicated);
  EXPECT_EQ(styles(plan).at("lm_head"), Style::kReplicated);
  EXPECT_EQ(styles(plan).at("model.layers.1.mlp.up_proj"), Style::kColwise);
}

TEST_F(PlanYaml, AnEmptyPlanIsTheDefault) {
  for (const char* text : {"", "# nothing\n", "---\n", "tp_plan:\n", "tp_plan: {}\n", "{}\n"}) {
    EXPECT_EQ(styles(load(text)), styles(load_plan({}, config_of("llama"), kPlans))) << text;
  }
}

TEST_F(PlanYaml, TheEmbeddingRuleIsAddedUnlessNamed) {
  EXPECT_EQ(styles(load("embed_tokens: replicated\n")).at("model.embed_tokens"), Style::kReplicated);
  EXPECT_EQ(styles(load("model.embed_tokens: embedding_colwise\n")).at("model.embed_tokens"), Style::kEmbeddingColwise);
}

TEST_F(PlanYaml, OldNamesAreNoted) {
  const Plan plan = load("lm_head: colwise_rep\n");
  EXPECT_THAT(plan.notes, ElementsAre("my.yaml:1:10: `colwise_rep` is the older name of `colwise_gather_output`"));
  EXPECT_EQ(styles(plan).at("lm_head"), Style::kColwiseGatherOutput);
}

TEST_F(PlanYaml, TheMoreSpecificPatternWins) {
  const std::map<std::string, Style> found =
      styles(load("layers.*.mlp.down_proj: replicated\nlayers.1.mlp.down_proj: rowwise_split_input\n"
                  "layers.*.self_attn.*: replicated\n"));
  EXPECT_EQ(found.at("model.layers.0.mlp.down_proj"), Style::kReplicated);
  EXPECT_EQ(found.at("model.layers.1.mlp.down_proj"), Style::kRowwiseSplitInput);
  EXPECT_EQ(found.at("model.layers.1.self_attn.k_proj"), Style::kReplicated);
}

TEST_F(PlanYaml, TwoEqualPatternsAreAnError) {
  EXPECT_EQ(resolve_message("layers.1.mlp.*: replicated\nlayers.*.mlp.down_proj: rowwise\n"),
            "my.yaml:2:1: `layers.*.mlp.down_proj` and `layers.1.mlp.*` (my.yaml:1:1) both match model.layers.1.mlp.down_proj "
            "and neither is more specific\n  fix: remove one of them, or name the module itself");
  EXPECT_EQ(resolve_message("lm_head: replicated\nmodel.lm_head: rowwise_split_input\n"),
            "my.yaml:2:1: `model.lm_head` and `lm_head` (my.yaml:1:1) both match lm_head and neither is more specific\n"
            "  fix: remove one of them, or name the module itself");
}

TEST_F(PlanYaml, AnOverrideThatMatchesNothingIsAnError) {
  EXPECT_EQ(resolve_message("layers.*.mlp.up_porj: colwise\n"),
            "my.yaml:1:1: `layers.*.mlp.up_porj` matches no module of this model\n  fix: did you mean `layers.*.mlp.up_proj`?");
  EXPECT_EQ(resolve_message("", {"attn.q_proj=colwise"}),
            "--override attn.q_proj=colwise: `attn.q_proj` matches no module of this model\n"
            "  fix: did you mean `layers.*.self_attn.q_proj`?");
  EXPECT_EQ(resolve_message("", {"layers.7.mlp.up_proj=colwise"}),
            "--override layers.7.mlp.up_proj=colwise: `layers.7.mlp.up_proj` matches no module of this model\n"
            "  fix: the layers of this model are 0 to 1");
  EXPECT_EQ(resolve_message("", {"layers.*.mlp.up_proj.weight=colwise"}),
            "--override layers.*.mlp.up_proj.weight=colwise: `layers.*.mlp.up_proj.weight` matches no module of this model\n"
            "  fix: name the module: a rule for `layers.*.mlp.up_proj` covers its weight and bias");
  EXPECT_EQ(resolve_message("", {"layers.*.mlp=replicated"}),
            "--override layers.*.mlp=replicated: `layers.*.mlp` matches no module of this model\n"
            "  fix: a rule is for one module; those in it are `layers.*.mlp.gate_proj`, `layers.*.mlp.up_proj`, "
            "`layers.*.mlp.down_proj`");
  EXPECT_EQ(resolve_message("", {"transformer=replicated"}),
            "--override transformer=replicated: `transformer` matches no module of this model\n"
            "  fix: the modules of this model are `embed_tokens`, `layers.*.input_layernorm`, `layers.*.self_attn.q_proj`, "
            "`layers.*.self_attn.k_proj`, `layers.*.self_attn.v_proj`, `layers.*.self_attn.o_proj`, "
            "`layers.*.post_attention_layernorm`, `layers.*.mlp.gate_proj`, `layers.*.mlp.up_proj`, "
            "`layers.*.mlp.down_proj`, `norm`, `lm_head`");
}

TEST_F(PlanYaml, RefusesUnknownNamesWithNearOnes) {
  EXPECT_EQ(message("layers.*.mlp.up_proj: colwize\n"),
            "my.yaml:1:23: unknown style `colwize`\n  fix: did you mean `colwise`?");
  EXPECT_EQ(message("version: 1\ntp_plann:\n  lm_head: replicated\n"),
            "my.yaml:2:1: unknown key `tp_plann`\n  fix: did you mean `tp_plan`?");
  EXPECT_EQ(message("tp_plann:\n  lm_head: replicated\n"),
            "my.yaml:1:1: unknown key `tp_plann`\n  fix: did you mean `tp_plan`?");
  EXPECT_EQ(message("extend: glm4\n"), "my.yaml:1:1: unknown key `extend`\n  fix: did you mean `extends`?");
  EXPECT_EQ(message("version: 1\nlm_head: replicated\n"),
            "my.yaml:2:1: unknown key `lm_head`\n  fix: rules go below `tp_plan:`");
  EXPECT_EQ(message("version: 1\nfoo: 3\n"),
            "my.yaml:2:1: unknown key `foo`\n  fix: the keys of a plan are `version`, `extends`, `tied_weights`, `uneven`, "
            "`kernels`, "
            "`tp_plan`, `weights`");
  EXPECT_EQ(message("extends: lama\n"), "my.yaml:1:10: there is no default plan `lama`\n  fix: did you mean `llama`?");
  EXPECT_EQ(
      message("tp_plan:\n  lm_head: x\n"),
      "my.yaml:2:12: unknown style `x`\n  fix: the styles are `replicated`, `replicated_with_grad_allreduce`, `replicate`, "
      "`colwise`, `colwise_gather_output`, `rowwise`, `rowwise_split_input`, `packed_colwise`, `packed_rowwise`, "
      "`embedding_rowwise`, `embedding_colwise`, `kv_replicated`, `mla_kv_a_proj`, `moe_tp_experts`, `grouped_gemm`, "
      "`ep_dispatch_experts`, `local_params`");
}

// Kernels are not about shards, but what is written there is checked wherever a plan is.
TEST_F(PlanYaml, RefusesKernelsThatAreNone) {
  EXPECT_EQ(message("kernels: rms_norm\n"),
            "my.yaml:1:10: `kernels` is a mapping of operations to packages\n  fix: kernels: {norm: DIR}");
  EXPECT_EQ(message("kernels:\n  nrom: a\n"), "my.yaml:2:3: no operation `nrom` can be replaced\n  fix: did you mean `norm`?");
  EXPECT_EQ(message("kernels:\n  rope: a\n"),
            "my.yaml:2:3: no operation `rope` can be replaced\n  fix: one of: norm, decode_attention, append_attention");
  EXPECT_EQ(message("kernels:\n  norm: a\n  norm: b\n"), "my.yaml:3:3: `norm` is there twice\n  fix: remove one of them");
  EXPECT_EQ(message("kernels:\n  norm: {kernel: a, kernel: b}\n"),
            "my.yaml:2:21: `kernel` is there twice\n  fix: remove one of them");
  EXPECT_EQ(message("kernels:\n  norm: {kernel: a, falback: error}\n"),
            "my.yaml:2:21: unknown key `falback`\n  fix: did you mean `fallback`?");
  EXPECT_EQ(message("kernels:\n  norm: {kernel: a, fallback: bultin}\n"),
            "my.yaml:2:31: `bultin` is no fallback\n  fix: did you mean `builtin`?");
  EXPECT_EQ(message("kernels:\n  norm: {tpu: a, gpu: b}\n"),
            "my.yaml:2:18: unknown key `gpu`\n  fix: did you mean `cpu` or `tpu`?");
  EXPECT_EQ(message("kernels:\n  norm: {fallback: builtin}\n"), "my.yaml:2:3: `norm` has no package\n  fix: write `norm: DIR`");
}

TEST_F(PlanYaml, MayNameAKernelForEachBackend) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "plan_kernels_of_backends.yaml";
  std::ofstream(file) << "kernels:\n"
                         "  decode_attention: org/name\n"
                         "  norm:\n"
                         "    tpu: {kernel: a, fallback: builtin}\n"
                         "    cpu: {kernel: b, operator: rms_norm}\n";
  const std::vector<PlanKernel> kernels = read_plan_kernels(file.string());
  ASSERT_EQ(kernels.size(), 3U);
  EXPECT_EQ(kernels[0].op + kernels[0].backend, "decode_attention");
  EXPECT_EQ(kernels[0].package, "org/name");
  EXPECT_FALSE(kernels[0].built_in);
  EXPECT_EQ(kernels[1].op + " " + kernels[1].backend + " " + kernels[1].package, "norm tpu a");
  EXPECT_TRUE(kernels[1].built_in);
  EXPECT_EQ(kernels[2].op + " " + kernels[2].backend + " " + kernels[2].package, "norm cpu b");
  EXPECT_EQ(kernels[2].operator_name, "rms_norm");
}

TEST_F(PlanYaml, RefusesUnsupportedStylesWithTheReason) {
  EXPECT_EQ(
      message("norm: sequence_parallel\n"),
      "my.yaml:1:7: style `sequence_parallel` is not supported: it splits activations along the sequence to save memory in "
      "training; norms run whole on every chip here\n  fix: leave the rule out, or use `replicated`");
}

TEST_F(PlanYaml, RefusesDuplicateKeys) {
  EXPECT_EQ(message("version: 1\ntp_plan:\n  lm_head: replicated\n  lm_head: colwise\n"),
            "my.yaml:4:3: duplicate key `lm_head`, first on line 3\n  fix: remove one of them");
  EXPECT_EQ(message("version: 1\nversion: 1\n"),
            "my.yaml:2:1: duplicate key `version`, first on line 1\n  fix: remove one of them");
}

TEST_F(PlanYaml, RefusesWrongValues) {
  EXPECT_EQ(message("version: 2\n"), "my.yaml:1:10: version `2` is not known\n  fix: write `version: 1`");
  EXPECT_EQ(message("tied_weights: tie\n"),
            "my.yaml:1:15: `tied_weights` is `reject`, `untie` or `vocab_parallel`, found `tie`");
  EXPECT_EQ(message("uneven: yes\n"), "my.yaml:1:9: `uneven` is `reject` or `allow`, found `yes`");
  EXPECT_EQ(message("tp_plan: colwise\n"), "my.yaml:1:10: `tp_plan` is a mapping of patterns to styles, found `colwise`");
  EXPECT_EQ(message("lm_head:\n"),
            "my.yaml:1:1: `lm_head` needs the name of a style, found nothing\n"
            "  fix: write one line `pattern: style` for each module");
  EXPECT_EQ(message("lm_head: [colwise]\n"),
            "my.yaml:1:10: `lm_head` needs the name of a style, found a list\n"
            "  fix: write one line `pattern: style` for each module");
  EXPECT_EQ(message("- lm_head\n"),
            "my.yaml:1:1: a plan is a mapping, found a list\n"
            "  fix: write `tp_plan:` and below it `pattern: style` lines");
  EXPECT_EQ(message("layers.*.mlp.up_*: colwise\n"),
            "my.yaml:1:1: `layers.*.mlp.up_*` is not a pattern\n"
            "  fix: `*` stands for one whole part of the name, never for a piece of it");
  EXPECT_EQ(message("layers..mlp: colwise\n"),
            "my.yaml:1:1: `layers..mlp` is not a pattern\n  fix: a pattern is a dotted name without empty parts");
}

TEST_F(PlanYaml, RefusesWrongOverrides) {
  EXPECT_EQ(message("", {"lm_head"}),
            "--override lm_head: not of the form PATTERN=STYLE\n"
            "  fix: for example `--override lm_head=replicated`");
  EXPECT_EQ(message("", {"lm_head=colwize"}),
            "--override lm_head=colwize: unknown style `colwize`\n  fix: did you mean `colwise`?");
}

TEST_F(PlanYaml, ShowsAllProblemsAtOnce) {
  EXPECT_EQ(message("version: 3\ntp_plan:\n  lm_head: colwize\n"),
            "my.yaml:1:10: version `3` is not known\n  fix: write `version: 1`\n"
            "tprun: error: my.yaml:3:12: unknown style `colwize`\n  fix: did you mean `colwise`?");
  EXPECT_EQ(message("tp_plan:\n  lm_head: colwize\n  embed_tokenz: replicated\n"),
            "my.yaml:2:12: unknown style `colwize`\n  fix: did you mean `colwise`?\n"
            "tprun: error: my.yaml:3:3: `embed_tokenz` matches no module of this model\n"
            "  fix: did you mean `embed_tokens`?");
  EXPECT_EQ(message("lm_head: replicated\nlm_head: replicated\n"),
            "my.yaml:2:1: duplicate key `lm_head`, first on line 1\n  fix: remove one of them");
}

TEST_F(PlanYaml, AnUnquotedStarGetsTheHintToQuoteIt) {
  const std::string hint = "an unquoted leading `*` is a YAML alias\n  fix: put the pattern in quotes: \"*.…\"";
  EXPECT_EQ(message("*.mlp.up_proj: colwise\n"), "my.yaml:1:1: " + hint);
  EXPECT_EQ(message("tp_plan:\n  *.self_attn.q_proj: colwise\n"), "my.yaml:2:3: " + hint);
  EXPECT_EQ(message("* : colwise\n"), "my.yaml:1:2: " + hint);
  EXPECT_EQ(message("lm_head: *x\n"), "my.yaml:1:10: " + hint);
  EXPECT_EQ(resolve_message("\"*.*.mlp.up_proj\": colwise\n"), "accepted");
}

TEST_F(PlanYaml, RefusesWhatIsNoPlan) {
  EXPECT_EQ(message("a: &x b\n"), "my.yaml:1:4: a plan has no YAML anchors (`&name`)\n  fix: write the value out");
  EXPECT_EQ(message("a: &x [b, b]\nc: &y [*x, *x]\n"), message("a: &x b\n"));
  EXPECT_EQ(message("lm_head: !!python/object x\n"),
            "my.yaml:1:10: a plan has no YAML tags (`tag:yaml.org,2002:python/object`)\n  fix: leave the tag out");
  EXPECT_EQ(message("a: b\n---\na: b\n"),
            "my.yaml:3:1: a plan is one YAML document\n  fix: remove the `---` and what follows it");
  const std::string key = " a key must be plain text\n  fix: write it as one word or pattern, in quotes if need be";
  EXPECT_EQ(message("? [a, b]\n: colwise\n"), "my.yaml:1:3:" + key);
  EXPECT_EQ(message("a:\n- - - - - - - - - - - - -\n"),
            "my.yaml:2:15: nested too deeply for a plan\n  fix: plans/README.md shows what a plan looks like");
  EXPECT_EQ(message(std::string(10000, '[')), "my.yaml:1:1:" + key);
  EXPECT_EQ(message(std::string((1 << 18) + 1, '#')),
            "my.yaml: too large for a plan (over 262144 bytes)\n  fix: name a plan file");
  EXPECT_EQ(message(std::string("a: \0b", 5)), "my.yaml: not a text file\n  fix: name a plan file");
  EXPECT_EQ(message("a: b: c\n"),
            "my.yaml:1:5: not valid YAML: illegal map value\n  fix: plans/README.md shows what a plan looks like");
  EXPECT_EQ(message("tp_plan:\n\tlm_head: colwise\n"),
            "my.yaml:2:9: not valid YAML: illegal map value\n  fix: indent with blanks, YAML does not allow tabs");
}

TEST_F(PlanYaml, RefusesAMissingFile) {
  try {
    load_plan({.plan = "none.yaml"}, config_of("llama"), kPlans);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.text(), "none.yaml: no such plan file\n  fix: name a YAML file; plans/README.md says what stands in it");
  }
  try {
    load_plan({.plan = "."}, config_of("llama"), kPlans);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.text(), ".: not a file\n  fix: name a plan file");
  }
}

TEST(PlanPattern, MatchesWholeDottedNames) {
  EXPECT_TRUE(pattern_matches("layers.*.mlp.up_proj", "model.layers.10.mlp.up_proj"));
  EXPECT_TRUE(pattern_matches("model.layers.*.mlp.up_proj", "model.layers.10.mlp.up_proj"));
  EXPECT_TRUE(pattern_matches("model.layers.*.mlp.up_proj", "layers.10.mlp.up_proj"));
  EXPECT_TRUE(pattern_matches("lm_head", "lm_head"));
  EXPECT_TRUE(pattern_matches("layers.*.attention.dense", "gpt_neox.layers.0.attention.dense"));
  EXPECT_FALSE(pattern_matches("mlp.up_proj", "model.layers.10.mlp.up_proj"));
  EXPECT_FALSE(pattern_matches("layers.*", "model.layers.10.mlp.up_proj"));
  EXPECT_FALSE(pattern_matches("layers.1.mlp.up_proj", "model.layers.10.mlp.up_proj"));
  EXPECT_FALSE(pattern_matches("*", "model.layers.10.mlp.up_proj"));
  EXPECT_FALSE(pattern_matches("layers.*.mlp.up", "model.layers.10.mlp.up_proj"));
}

TEST_F(PlanYaml, FormatsOfWeightsAreRulesLikeThoseOfThePlan) {
  const Plan plan = load("weights:\n  layers.*.mlp.down_proj: int8\n  layers.1.mlp.down_proj: bf16\n  lm_head: int4-128\n");
  ResolvedPlan resolved = resolve_plan(plan, ToyModel().modules(), 1);
  settle_weight_kinds(resolved, config_of("llama"), nullptr, WeightKind::kInt4Group32);
  std::map<std::string, WeightKind> kinds;
  for (const PlannedModule& planned : resolved.modules) kinds[planned.module.name] = planned.kind;
  EXPECT_EQ(kinds.at("model.layers.0.mlp.down_proj"), WeightKind::kInt8);
  EXPECT_EQ(kinds.at("model.layers.1.mlp.down_proj"), WeightKind::kStored);
  EXPECT_EQ(kinds.at("model.layers.0.mlp.up_proj"), WeightKind::kInt4Group32);
  EXPECT_EQ(kinds.at("lm_head"), WeightKind::kInt4Group128);
  EXPECT_EQ(kinds.at("model.embed_tokens"), WeightKind::kStored);
}

TEST_F(PlanYaml, FormatsOfWeightsAreChecked) {
  const auto settled = [&](const std::string& yaml) -> std::string {
    try {
      ResolvedPlan resolved = resolve_plan(load(yaml), ToyModel().modules(), 1);
      settle_weight_kinds(resolved, config_of("llama"), nullptr, WeightKind::kStored);
    } catch (const Error& e) {
      return e.text();
    }
    return "accepted";
  };
  EXPECT_EQ(settled("weights:\n  lm_head: int88\n"), "my.yaml:2:12: unknown format `int88`\n  fix: did you mean `int8`?");
  EXPECT_EQ(settled("weights:\n  lm_head: [int8]\n"),
            "my.yaml:2:12: unknown format a list\n  fix: the formats are `bf16`, `int8`, `int4`, `int4-128`");
  EXPECT_EQ(settled("weights:\n  layers.*.mlp.dwn_proj: int8\n"),
            "my.yaml:2:3: `layers.*.mlp.dwn_proj` matches no module of this model\n"
            "  fix: did you mean `layers.*.mlp.down_proj`?");
  EXPECT_EQ(settled("weights:\n  lm_head: int8\n  lm_head: int4\n"),
            "my.yaml:3:3: duplicate key `lm_head`, first on line 2\n  fix: remove one of them");
  EXPECT_EQ(settled("weights: int8\n"), "my.yaml:1:10: `weights` is a mapping of patterns to formats, found `int8`");
  EXPECT_EQ(settled("weight:\n  lm_head: int8\ntp_plan:\n"),
            "my.yaml:1:1: unknown key `weight`\n  fix: did you mean `weights`?");
  EXPECT_EQ(settled("weights:\n  embed_tokens: int8\n"),
            "my.yaml:2:3: model.embed_tokens multiplies nothing, and stays as it is stored\n"
            "  fix: another number of ranks, another kind or none");
}

}  // namespace
}  // namespace tp
