#include "runtime/weights.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>

#include "sharding/plan_yaml.h"
#include "tests/runtime/made_checkpoint.h"
#include "tests/runtime/resident_memory.h"
#include "tests/runtime/safetensors_header.h"
#include "tests/sharding/written_files.h"

namespace tp {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using Floats = std::vector<float>;

// 100 t + i: which tensor and which element of it a value was.
float numbered(int64_t t, int64_t i) {
  return static_cast<float>(100 * t + i);
}

class WeightsTest : public WrittenFiles {
 protected:
  Weights load(const ParameterTable& table, DType dtype, bool in_place = true, int threads = 1) const {
    return Weights::load(table, open_checkpoint(dir_), dtype, {LinearLayout::kStored, in_place, threads, {}});
  }

  static Floats values(const ParameterTable& table, const Weights& weights, ParamId id) {
    const int64_t count = table.at(id).elements();
    Floats result;
    for (int64_t i = 0; i < count; ++i) {
      if (weights.dtype() == DType::kF32) {
        float value;
        std::memcpy(&value, weights.data(id) + i * 4, 4);
        result.push_back(value);
      } else {
        uint16_t half;
        std::memcpy(&half, weights.data(id) + i * 2, 2);
        result.push_back(std::bit_cast<float>(static_cast<uint32_t>(half) << 16));
      }
    }
    return result;
  }
};

TEST_F(WeightsTest, RowsOfARankAreUsedWhereTheyLieInTheFile) {
  MadeCheckpoint{.value = numbered}.write(dir_);
  const ParameterTable table = made_table(dir_, 2, 1);
  const Weights weights = load(table, DType::kF32);
  // q_proj is tensor 1, [8, 8]: rank 1 has its last four rows.
  const ParamId q = table.weight(Role::kQ, 0);
  Floats want;
  for (int i = 32; i < 64; ++i) want.push_back(static_cast<float>(100 + i));
  EXPECT_THAT(values(table, weights, q), ElementsAreArray(want));
  // One file, mapped: the distance of two slices is that in the file. embed_tokens is tensor 0, [8, 8], 256 bytes.
  const std::byte* embedding = weights.data(table.weight(Role::kEmbedding, -1));
  EXPECT_EQ(weights.data(q) - embedding, 256);
}

TEST_F(WeightsTest, ColumnsOfARankAreCopied) {
  MadeCheckpoint{.value = numbered}.write(dir_);
  for (int rank : {0, 1}) {
    const ParameterTable table = made_table(dir_, 2, rank);
    const Weights weights = load(table, DType::kF32);
    // down_proj is tensor 7, [8, 6]: three columns each.
    const float first = 700.0f + 3.0f * static_cast<float>(rank);
    Floats want;
    for (int row = 0; row < 8; ++row)
      for (int column = 0; column < 3; ++column) want.push_back(first + static_cast<float>(6 * row + column));
    EXPECT_THAT(values(table, weights, table.weight(Role::kDown, 0)), ElementsAreArray(want)) << "rank " << rank;
  }
}

TEST_F(WeightsTest, WhatDoesNotDivideIsPaddedWithZeros) {
  MadeCheckpoint{.vocab = 5, .hidden = 4, .intermediate = 3, .value = numbered}.write(dir_);
  const ParameterTable table = made_table(dir_, 2, 1);
  const Weights weights = load(table, DType::kF32);
  // lm_head, tensor 11: rows 3 and 4 of five, then one of padding.
  EXPECT_THAT(values(table, weights, table.weight(Role::kLmHead, -1)),
              ElementsAre(1112, 1113, 1114, 1115, 1116, 1117, 1118, 1119, 0, 0, 0, 0));
  EXPECT_THAT(values(table, weights, table.weight(Role::kEmbedding, -1)),
              ElementsAre(12, 13, 14, 15, 16, 17, 18, 19, 0, 0, 0, 0));
  // gate_proj, tensor 5: row 2 of three, then padding; down_proj, tensor 7: column 2 of three, then padding.
  EXPECT_THAT(values(table, weights, table.weight(Role::kGate, 0)), ElementsAre(508, 509, 510, 511, 0, 0, 0, 0));
  EXPECT_THAT(values(table, weights, table.weight(Role::kDown, 0)), ElementsAre(702, 0, 705, 0, 708, 0, 711, 0));
}

TEST_F(WeightsTest, AnotherDtypeIsConvertedAtLoad) {
  MadeCheckpoint{.value = [](int64_t, int64_t i) { return 1.0f + static_cast<float>(i) / 256; }}.write(dir_);
  const ParameterTable table = made_table(dir_, 2, 0);
  const Weights weights = load(table, DType::kBF16);
  EXPECT_EQ(weights.dtype(), DType::kBF16);
  // bfloat16 has steps of 1/128 here; halves go to the even one.
  EXPECT_THAT(values(table, weights, table.weight(Role::kFinalNorm, -1)),
              ElementsAre(1, 1, 1.0078125f, 1.015625f, 1.015625f, 1.015625f, 1.0234375f, 1.03125f));
}

TEST_F(WeightsTest, BothFormatsAndAnyNumberOfThreadsGiveTheSame) {
  MadeCheckpoint{.dtype = "BF16", .value = [](int64_t t, int64_t i) { return static_cast<float>((7 * t + i) % 64); }}.write(
      dir_);
  const ParameterTable table = made_table(dir_, 2, 1);
  const Weights mapped = load(table, DType::kBF16), copied = load(table, DType::kBF16, false, 3);
  EXPECT_EQ(mapped.total_bytes(), copied.total_bytes());
  for (ParamId id = 0; id < table.size(); ++id)
    EXPECT_EQ(values(table, mapped, id), values(table, copied, id)) << table.at(id).name();
}

TEST_F(WeightsTest, DataOffItsAlignmentIsCopied) {
  MadeCheckpoint{.bytes_before = 3, .value = numbered}.write(dir_);
  const ParameterTable table = made_table(dir_, 2, 0);
  const Weights weights = load(table, DType::kF32);
  for (ParamId id = 0; id < table.size(); ++id)
    EXPECT_EQ(reinterpret_cast<uintptr_t>(weights.data(id)) % 4, 0u) << table.at(id).name();
  EXPECT_THAT(values(table, weights, table.weight(Role::kFinalNorm, -1)),
              ElementsAre(1000, 1001, 1002, 1003, 1004, 1005, 1006, 1007));
}

// A checkpoint of `text`, a config.json, without a correction bias; every byte of its data is 0x3f.
void write_without_correction(const std::filesystem::path& dir, const ModelConfig& config, const std::string& text) {
  std::vector<HeaderTensor> tensors;
  int64_t elements = 0;
  for (const ModuleSpec& module : module_tree(config)) {
    if (module.role == Role::kCorrectionBias) continue;
    tensors.push_back({module.weight_name(), "F32", module.weight_shape});
    elements += tensors.back().elements();
  }
  std::ofstream(dir / "config.json") << text;
  std::ofstream(dir / "model.safetensors", std::ios::binary)
      << safetensors_header(tensors) << std::string(static_cast<size_t>(4 * elements), '\x3f');
}

TEST_F(WeightsTest, ACorrectionBiasThatIsNotStoredIsZeroWhereItMayBeMissing) {
  const auto text = [](const std::string& type) {
    return R"({"model_type": ")" + type + R"(", "vocab_size": 8, "hidden_size": 8, "intermediate_size": 8,
      "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2, "q_lora_rank": 4, "kv_lora_rank": 4,
      "qk_nope_head_dim": 2, "qk_rope_head_dim": 2, "v_head_dim": 2, "n_routed_experts": 4, "num_experts_per_tok": 2,
      "moe_intermediate_size": 4, "n_group": 1, "topk_group": 1, "first_k_dense_replace": 0})";
  };
  const ModelConfig config = parse_model_config(text("axk1"), "config.json");
  write_without_correction(dir_, config, text("axk1"));
  require_tensors(open_checkpoint(dir_), module_tree(config), config);
  const ParameterTable table = made_table(dir_, 1, 0);
  const Weights weights = load(table, DType::kF32);
  EXPECT_THAT(values(table, weights, table.weight(Role::kCorrectionBias, 0)), ElementsAre(0, 0, 0, 0));
  EXPECT_FLOAT_EQ(values(table, weights, table.weight(Role::kRouter, 0)).at(0), std::bit_cast<float>(0x3f3f3f3f));

  const ModelConfig strict = parse_model_config(text("deepseek_v3"), "config.json");
  write_without_correction(dir_, strict, text("deepseek_v3"));
  try {
    require_tensors(open_checkpoint(dir_), module_tree(strict), strict);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.text(), testing::HasSubstr("`model.layers.0.mlp.gate.e_score_correction_bias` is missing"));
  }
}

TEST_F(WeightsTest, ATiedHeadSharesTheEmbeddingsMemory) {
  MadeCheckpoint{.tied = true, .value = numbered}.write(dir_);
  const ModelConfig config = load_model_config(dir_);
  PlanRequest request;
  request.tied = TiedWeights::kVocabParallel;
  const ParameterTable table(resolve_plan(load_plan(request, config, TPRUN_SOURCE_DIR "/plans"), config, 2), config, 0);
  const Weights weights = load(table, DType::kF32);
  EXPECT_EQ(weights.data(table.weight(Role::kLmHead, -1)), weights.data(table.weight(Role::kEmbedding, -1)));
  // Half of each matrix, the norms whole: (32 + 4 * 32 + 3 * 24 + 3 * 8) floats.
  EXPECT_EQ(weights.total_bytes(), 256 * 4);
}

TEST_F(WeightsTest, ReportsProgressInBytesOfThisRank) {
  MadeCheckpoint{.value = numbered}.write(dir_);
  const ParameterTable table = made_table(dir_, 2, 0);
  std::vector<int64_t> done;
  int64_t total = 0;
  LoadOptions options;
  options.progress = [&](int64_t bytes, int64_t all) {
    done.push_back(bytes);
    total = all;
  };
  const Weights weights = Weights::load(table, open_checkpoint(dir_), DType::kF32, options);
  EXPECT_EQ(total, weights.total_bytes());
  EXPECT_EQ(done.back(), total);
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
}

// 66 MB in bfloat16: of a half, 23.1 MB lie in the file as they are used, 10.5 MB (o_proj and down_proj) are copied.
const MadeCheckpoint kLarge{.vocab = 8000, .hidden = 1024, .intermediate = 4096, .heads = 16, .kv_heads = 16, .dtype = "BF16"};
constexpr int64_t kSlack = 4 << 20;

TEST_F(WeightsTest, MemoryIsTheCopiedPartAloneAndPagesThatWereOnlyReadAreLetGo) {
  kLarge.write(dir_);
  const ParameterTable table = made_table(dir_, 2, 1);
  const ResidentMemory before = resident_memory();
  const Weights weights = load(table, DType::kBF16);
  const ResidentMemory after = resident_memory();
  const int64_t copied = (1024 * 512 + 1024 * 2048) * 2;
  EXPECT_LT(after.anonymous - before.anonymous, copied + kSlack);
  EXPECT_LT(after.file - before.file, weights.total_bytes() - copied + kSlack);
}

TEST_F(WeightsTest, ConvertedMemoryIsTheShardAndNothingOfTheFileStays) {
  kLarge.write(dir_);
  const ParameterTable table = made_table(dir_, 2, 1);
  const ResidentMemory before = resident_memory();
  const Weights weights = load(table, DType::kF32);
  const ResidentMemory after = resident_memory();
  EXPECT_LT(after.anonymous - before.anonymous, weights.total_bytes() + kSlack);
  EXPECT_LT(after.file - before.file, kSlack);
}

}  // namespace
}  // namespace tp
