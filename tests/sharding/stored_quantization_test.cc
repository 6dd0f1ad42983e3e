// What is refused of a quantized checkpoint before anything runs, by the name of the tensor.
#include <gmock/gmock.h>

#include <cstring>

#include "sharding/checkpoint.h"
#include "sharding/json_document.h"
#include "sharding/quantization.h"
#include "sharding/quantized.h"
#include "sharding/stored_format.h"
#include "tests/sharding/written_files.h"

namespace tp {
namespace {

const std::string kQ = "model.layers.0.self_attn.q_proj.";

class StoredQuantization : public WrittenFiles {
 protected:
  // A copy of a case of tests/golden/quantized to be damaged.
  void copy(const std::string& name) {
    const std::string from = std::string(TPRUN_SOURCE_DIR) + "/tests/golden/quantized/" + name;
    for (const char* file : {"config.json", "model.safetensors"})
      write(file, read_text_file(from + "/" + file, int64_t{1} << 20));
  }
  void replace(const std::string& file, const std::string& old, const std::string& fresh) {
    std::string text = read_text_file(dir_ / file, int64_t{1} << 20);
    const size_t at = text.find(old);
    ASSERT_NE(at, std::string::npos) << old;
    write(file, text.replace(at, old.size(), fresh));
  }
  // Overwrites bytes of a tensor's data from byte `begin` on.
  void overwrite(const std::string& tensor, size_t begin, const std::string& bytes) {
    const auto header = read_safetensors_header(dir_ / "model.safetensors");
    std::string text = read_text_file(dir_ / "model.safetensors", int64_t{1} << 20);
    text.replace(static_cast<size_t>(header.at(tensor).offset) + begin, bytes.size(), bytes);
    write("model.safetensors", text);
  }
  std::string opened() {
    return refusal([&] { check_scales(open_checkpoint(dir_)); });
  }
};

TEST_F(StoredQuantization, IsReadAsWeightsOfTheirOwnShape) {
  copy("awq");
  const Checkpoint checkpoint = open_checkpoint(dir_);
  EXPECT_EQ(opened(), "accepted");
  EXPECT_EQ(checkpoint.tensors.size(), 12u);
  EXPECT_EQ(checkpoint.tensors.at("model.layers.0.mlp.down_proj.weight").entry.shape, (std::vector<int64_t>{64, 128}));
  EXPECT_EQ(kept_kind(*checkpoint.tensors.at(kQ + "weight").quantized), WeightKind::kInt4Group32Zeros);
}

TEST_F(StoredQuantization, RefusesScalesThatCannotBe) {
  copy("compressed_int8");
  overwrite(kQ + "weight_scale", 6, "\xc0\x7f");
  EXPECT_EQ(opened(), kQ + "weight_scale: scale 3 is NaN\n  fix: the checkpoint is damaged: get it again");
  overwrite(kQ + "weight_scale", 6, "\x80\xbf");
  EXPECT_EQ(opened(), kQ + "weight_scale: scale 3 is negative\n  fix: the checkpoint is damaged: get it again");
  copy("awq");
  overwrite(kQ + "scales", 0, std::string("\0\x7c", 2));
  EXPECT_EQ(opened(), kQ + "scales: scale 0 is infinite\n  fix: the checkpoint is damaged: get it again");
  copy("fp8_blocks");
  overwrite(kQ + "weight_scale_inv", 4, std::string("\0\0\xc0\x7f", 4));
  EXPECT_EQ(opened(), kQ + "weight_scale_inv: scale 1 is NaN\n  fix: the checkpoint is damaged: get it again");
}

TEST_F(StoredQuantization, RefusesWhatIsMissing) {
  const std::string fix = "\n  fix: the checkpoint is damaged, or its `quantization_config` is of another one";
  copy("gptq");
  replace("model.safetensors", kQ + "qzeros", kQ + "qzerox");
  EXPECT_EQ(opened(), kQ + "qzeros: is missing" + fix);
  copy("gptq");
  replace("model.safetensors", kQ + "scales", kQ + "scalex");
  EXPECT_EQ(opened(), kQ + "scales: is missing" + fix);
  copy("compressed_int4_zeros");
  replace("model.safetensors", kQ + "weight_zero_point", kQ + "weight_zero_poinx");
  EXPECT_EQ(opened(), kQ + "weight_zero_point: is missing" + fix);
  copy("fp8_blocks");
  replace("model.safetensors", kQ + "weight_scale_inv", kQ + "weight_scale_inx");
  EXPECT_EQ(opened(), kQ + "weight_scale_inv: is missing" + fix);
}

TEST_F(StoredQuantization, RefusesGroupsOfAnotherSize) {
  const std::string fix = "\n  fix: the checkpoint is damaged, or its `quantization_config` is of another one";
  copy("compressed_int4");
  replace("config.json", "\"group_size\": 32", "\"group_size\": 64");
  EXPECT_THAT(opened(),
              testing::HasSubstr(kQ + "weight_scale: has shape [128, 2], `quantization_config` makes it [128, 1]" + fix));
  copy("awq");
  replace("config.json", "\"group_size\": 32", "\"group_size\": 48");
  EXPECT_THAT(opened(), testing::HasSubstr(kQ + "qweight: 64 inputs are not whole groups of 48" + fix));
}

TEST_F(StoredQuantization, RefusesActOrderAndZerosThatAreNotWhatTheConfigSays) {
  copy("gptq");
  overwrite(kQ + "g_idx", 0, std::string("\1\0\0\0", 4));
  EXPECT_EQ(opened(), kQ + "g_idx: the groups are in the order of activations (act-order), which is not supported\n"
                           "  fix: use a checkpoint that was made without act-order (`desc_act`: false)");
  copy("gptq");
  overwrite(kQ + "qzeros", 0, "\x76");
  EXPECT_EQ(
      opened(),
      kQ + "qzeros: has other zero points than 8, but `sym` is true\n  fix: the checkpoint is damaged, or `sym` is false");
}

TEST_F(StoredQuantization, MethodsAndOptionsAreRefusedByName) {
  const auto refused = [&](const char* config) {
    return refusal([&] { parse_stored_formats(parse_json(config, "config.json"), "config.json"); });
  };
  const std::string fix =
      "\n  fix: use the checkpoint in bfloat16, or one of compressed-tensors, fp8, gptq or awq as docs/quantization.md has "
      "them";
  EXPECT_EQ(refused(R"({"quant_method": "bitsandbytes"})"),
            "config.json: the checkpoint is quantized (`quantization_config`: bitsandbytes), which is not supported" + fix);
  EXPECT_EQ(refused(R"({"quant_method": "gptq", "bits": 4, "desc_act": true})"),
            "config.json: `quantization_config`: `desc_act` (act-order) is not supported" + fix);
  EXPECT_EQ(refused(R"({"quant_method": "gptq", "bits": 3})"),
            "config.json: `quantization_config`: `bits` is 3, which is not supported" + fix);
  EXPECT_EQ(refused(R"({"quant_method": "awq", "bits": 4, "version": "gemv"})"),
            "config.json: `quantization_config`: `version` is \"gemv\", which is not supported" + fix);
  EXPECT_EQ(refused(R"({"quant_method": "awq", "bits": 4, "group_size": 0})"),
            "config.json: `quantization_config`: `group_size` is 0, which is not supported" + fix);
  EXPECT_EQ(refused(R"({"quant_method": "fp8", "weight_block_size": [128]})"),
            "config.json: `quantization_config`: `weight_block_size` is [128], which is not supported" + fix);
}

}  // namespace
}  // namespace tp
