#include "sharding/plan_report.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "sharding/plan_yaml.h"
#include "sharding/report_groups.h"
#include "tests/sharding/toy_model.h"

namespace tp {
namespace {

using ::testing::HasSubstr;

const std::filesystem::path kPlans = std::filesystem::path(TPRUN_SOURCE_DIR) / "plans";

PlanReport report(const ToyModel& model, int tp_size, const std::vector<std::string>& overrides = {},
                  TiedWeights tied = TiedWeights::kReject, bool tie_word_embeddings = false) {
  ModelConfig config = model.config();
  config.tie_word_embeddings = tie_word_embeddings;
  Plan plan = load_plan({.overrides = overrides, .tied = tied}, config, kPlans);
  const ResolvedPlan resolved = resolve_plan(std::move(plan), model.modules(), tp_size);
  return plan_report(resolved, config, DType::kBF16, !tie_word_embeddings);
}

TEST(PlanReport, TableShowsWhatAChipHolds) {
  EXPECT_EQ(report_table(report({.vocab = 257, .kv_heads = 2}, 2, {"layers.1.mlp.*=replicated"}), 1),
            R"(default plan of llama, llama, 2 chips, bfloat16; chip 1 holds:

weight                                    n  style                  stored     on the chip  slice         bytes each  rule
embed_tokens.weight                       1  embedding_rowwise      [257, 64]  [129, 64]    [129:257, :]    16.1 KiB  embed_tokens (default plan of llama)
layers.*.input_layernorm.weight           2  replicated             [64]       [64]         all                128 B  no rule
layers.*.self_attn.q_proj.weight          2  colwise                [64, 64]   [32, 64]     [32:64, :]      4.00 KiB  layers.*.self_attn.q_proj (plans/llama.yaml:4:3)
layers.*.self_attn.k_proj.weight          2  colwise                [16, 64]   [8, 64]      [8:16, :]       1.00 KiB  layers.*.self_attn.k_proj (plans/llama.yaml:5:3)
layers.*.self_attn.v_proj.weight          2  colwise                [16, 64]   [8, 64]      [8:16, :]       1.00 KiB  layers.*.self_attn.v_proj (plans/llama.yaml:6:3)
layers.*.self_attn.o_proj.weight          2  rowwise                [64, 64]   [64, 32]     [:, 32:64]      4.00 KiB  layers.*.self_attn.o_proj (plans/llama.yaml:7:3)
layers.*.post_attention_layernorm.weight  2  replicated             [64]       [64]         all                128 B  no rule
layers.0.mlp.gate_proj.weight             1  colwise                [160, 64]  [80, 64]     [80:160, :]     10.0 KiB  layers.*.mlp.gate_proj (plans/llama.yaml:8:3)
layers.0.mlp.up_proj.weight               1  colwise                [160, 64]  [80, 64]     [80:160, :]     10.0 KiB  layers.*.mlp.up_proj (plans/llama.yaml:9:3)
layers.0.mlp.down_proj.weight             1  rowwise                [64, 160]  [64, 80]     [:, 80:160]     10.0 KiB  layers.*.mlp.down_proj (plans/llama.yaml:10:3)
layers.1.mlp.gate_proj.weight             1  replicated             [160, 64]  [160, 64]    all             20.0 KiB  layers.1.mlp.* (--override layers.1.mlp.*=replicated)
layers.1.mlp.up_proj.weight               1  replicated             [160, 64]  [160, 64]    all             20.0 KiB  layers.1.mlp.* (--override layers.1.mlp.*=replicated)
layers.1.mlp.down_proj.weight             1  replicated             [64, 160]  [64, 160]    all             20.0 KiB  layers.1.mlp.* (--override layers.1.mlp.*=replicated)
norm.weight                               1  replicated             [64]       [64]         all                128 B  no rule
lm_head.weight                            1  colwise_gather_output  [257, 64]  [129, 64]    [129:257, :]    16.1 KiB  lm_head (plans/llama.yaml:11:3)

weights per chip: 142.9 KiB, at most 256 B of it padding; the whole model: 224.9 KiB
KV cache per chip and token: 64 B
collectives per token: 1 all_gather (1.01 KiB), 4 all_reduce (1.00 KiB)
)");
}

TEST(PlanReport, CountsWhatAStepNeedsOfEachChip) {
  // vocab 320, hidden 64, two layers: q, o 64x64, k, v 32x64, gate, up, down 160x64, halved by two chips; norms whole.
  const PlanReport two = report({}, 2);
  const int64_t matrices = 2 * (2 * 64 * 64 + 2 * 32 * 64 + 3 * 160 * 64) / 2 + 320 * 64 / 2;
  EXPECT_EQ(two.step.flops, 2.0 * static_cast<double>(matrices));
  EXPECT_EQ(two.step.read_bytes, 2 * (matrices + 5 * 64 + 64));
  // Five sums of 64 floats, each sent once in two halves both ways, and a gather of 320 floats of which half are sent.
  EXPECT_EQ(two.step.link_bytes, 5 * 64 * 4 + 320 * 4 / 2);
  EXPECT_EQ(report({}, 1).step.link_bytes, 0.0);
}

TEST(Roofline, NamesWhatLimitsAndSaysThatItIsNoMeasurement) {
  const DeviceLimits limits{"v0", 1e9, 1e12, 1e8};
  const StepBound reading = step_bound(limits, {4 << 20, 1e9, 1e5});
  EXPECT_EQ(reading.limited_by(), "reading");
  EXPECT_EQ(bound_text(reading),
            "bound on v0 for one sequence, from published numbers and not measured: at most 238 tokens/s, by reading\n"
            "  each chip per token: reads 4.00 MiB (4.194 ms), 1.00 GFLOP (1.000 ms), sends 97.7 KiB (1.000 ms)\n");
  EXPECT_EQ(step_bound(limits, {1000, 1e10, 1e5}).limited_by(), "arithmetic");
  EXPECT_EQ(step_bound(limits, {1000, 1e9, 1e7}).limited_by(), "links");
}

TEST(Roofline, EveryGenerationWithATopologyHasPublishedNumbers) {
  for (const char* generation : {"v5e", "v5p", "v6e", "v7"}) EXPECT_NE(published_limits(generation), nullptr) << generation;
  EXPECT_EQ(published_limits("v3"), nullptr);
}

TEST(PlanReport, ReplicatedMlpSavesItsCollective) {
  EXPECT_EQ(report({}, 2).totals.at("all_reduce"), (OpTotal{5, 5 * 64 * 4}));
  EXPECT_EQ(report({}, 2, {"layers.*.mlp.*=replicated"}).totals.at("all_reduce"), (OpTotal{3, 3 * 64 * 4}));
  EXPECT_TRUE(report({}, 1).totals.empty());
}

TEST(PlanReport, GatheredWeightsCountTheirGather) {
  const PlanReport gathered = report({}, 4, {"layers.*.mlp.up_proj=colwise_gather_output", "embed_tokens=embedding_colwise"});
  EXPECT_EQ(gathered.totals.at("all_gather"), (OpTotal{4, 2 * 160 * 2 + 64 * 2 + 320 * 4}));
}

TEST(PlanReport, KvReplicatedKeepsOneHeadInTheCache) {
  const std::vector<std::string> kv = {"layers.*.self_attn.k_proj=kv_replicated", "layers.*.self_attn.v_proj=kv_replicated"};
  EXPECT_EQ(report({.kv_heads = 2}, 4, kv).cache_bytes_per_token, 2 * 2 * 8 * 2);
  EXPECT_EQ(report({.kv_heads = 2}, 1).cache_bytes_per_token, 2 * 2 * 16 * 2);
}

TEST(PlanReport, TiedHeadTakesNoMemoryWhereItIsShared) {
  const int64_t table = 160 * 64 * 2;
  const PlanReport untied = report({}, 2, {}, TiedWeights::kUntie, true);
  const PlanReport shared = report({}, 2, {}, TiedWeights::kVocabParallel, true);
  EXPECT_EQ(untied.bytes_per_chip - shared.bytes_per_chip, table);
  EXPECT_EQ(shared.stored_bytes, untied.stored_bytes);
  EXPECT_TRUE(shared.weights.back().shared);
}

TEST(PlanReport, JsonHasEverySlice) {
  const nlohmann::json json = nlohmann::json::parse(report_json(report({}, 2)));
  EXPECT_EQ(json["tp_size"], 2);
  EXPECT_EQ(json["collectives_per_token"]["all_reduce"]["count"], 5);
  const nlohmann::json& q = json["weights"][2];
  EXPECT_EQ(q["name"], "layers.0.self_attn.q_proj.weight");
  EXPECT_EQ(q["style"], "colwise");
  EXPECT_EQ(q["rule"], "layers.*.self_attn.q_proj");
  EXPECT_EQ(q["where"], "plans/llama.yaml:4:3");
  EXPECT_EQ(q["shape"], nlohmann::json({64, 64}));
  EXPECT_EQ(q["local_shape"], nlohmann::json({32, 64}));
  EXPECT_EQ(q["bytes"], 32 * 64 * 2);
  EXPECT_EQ(q["slices"].dump(), R"([{"dim":0,"rank":0,"runs":[[0,32,0]]},{"dim":0,"rank":1,"runs":[[32,32,0]]}])");
}

TEST(PlanReport, JsonSurvivesNamesThatAreNotUtf8) {
  PlanReport broken = report({}, 2);
  broken.plan = "\xff.yaml";
  EXPECT_EQ(nlohmann::json::parse(report_json(broken))["plan"], "\xEF\xBF\xBD.yaml");
}

TEST(PlanReport, PageDrawsEveryGroupAndNeedsNothingElse) {
  const PlanReport drawn =
      report({.kv_heads = 2}, 4, {"layers.*.self_attn.k_proj=kv_replicated", "layers.*.self_attn.v_proj=kv_replicated"});
  const std::string page = report_html(drawn);
  EXPECT_EQ(page.find("http"), std::string::npos);
  EXPECT_EQ(page.find("src="), std::string::npos);
  for (const WeightGroup& group : weight_groups(drawn)) EXPECT_THAT(page, HasSubstr("<code>" + group.name + "</code>"));
  EXPECT_THAT(page, HasSubstr("<title>chip 3: rows 48 to 63</title>"));     // q_proj
  EXPECT_THAT(page, HasSubstr("<title>chip 1: rows 0 to 7</title>"));       // k_proj: KV head 0 is on chips 0 and 1
  EXPECT_THAT(page, HasSubstr("<title>chip 3: columns 48 to 63</title>"));  // o_proj
}

TEST(PlanReport, PageEscapesNames) {
  PlanReport named = report({}, 2);
  named.plan = "<b>&\".yaml";
  EXPECT_THAT(report_html(named), HasSubstr("<h1>&lt;b&gt;&amp;&quot;.yaml: llama on 2 chips</h1>"));
}

TEST(PlanReport, SizesForPeople) {
  EXPECT_EQ(size_text(0), "0 B");
  EXPECT_EQ(size_text(1023), "1023 B");
  EXPECT_EQ(size_text(1536), "1.50 KiB");
  EXPECT_EQ(size_text(17716740096), "16.5 GiB");
}

}  // namespace
}  // namespace tp
