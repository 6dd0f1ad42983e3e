#include "sharding/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sharding/written_files.h"

namespace tp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// A model of one layer: 2 features of hidden size, 2 heads of 2, intermediate 2, vocabulary 3, float32.
constexpr const char* kConfig = R"({"model_type": "llama", "vocab_size": 3, "hidden_size": 2, "intermediate_size": 2,
  "num_hidden_layers": 1, "num_attention_heads": 2, "head_dim": 2, "rms_norm_eps": 1e-6, "torch_dtype": "float16")";

struct Tensor {
  std::string name;
  std::vector<int64_t> shape;
  std::string dtype = "F32";
};

std::vector<Tensor> one_layer(const std::string& prefix) {
  const std::string block = prefix + "layers.0.";
  return {{prefix + "embed_tokens.weight", {3, 2}},
          {block + "input_layernorm.weight", {2}},
          {block + "self_attn.q_proj.weight", {4, 2}},
          {block + "self_attn.k_proj.weight", {4, 2}},
          {block + "self_attn.v_proj.weight", {4, 2}},
          {block + "self_attn.o_proj.weight", {2, 4}},
          {block + "post_attention_layernorm.weight", {2}},
          {block + "mlp.gate_proj.weight", {2, 2}},
          {block + "mlp.up_proj.weight", {2, 2}},
          {block + "mlp.down_proj.weight", {2, 2}},
          {prefix + "norm.weight", {2}},
          {"lm_head.weight", {3, 2}}};
}

class CheckpointFiles : public WrittenFiles {
 protected:
  void write_tensors(const std::string& file, const std::vector<Tensor>& tensors) {
    std::string header;
    int64_t at = 0;
    for (const Tensor& tensor : tensors) {
      int64_t bytes = size_bytes(dtype_from_safetensors(tensor.dtype, ""));
      std::string shape;
      for (const int64_t size : tensor.shape) {
        bytes *= size;
        shape += (shape.empty() ? "" : ",") + std::to_string(size);
      }
      header += std::string(header.empty() ? "{" : ",") + "\"" + tensor.name + "\":{\"dtype\":\"" + tensor.dtype +
                "\",\"shape\":[" + shape + "],\"data_offsets\":[" + std::to_string(at) + "," + std::to_string(at + bytes) +
                "]}";
      at += bytes;
    }
    write(file, safetensors(header + "}", static_cast<size_t>(at)));
  }
  ModelConfig config(const std::string& more = "}") { return load_model_config(write("config.json", kConfig + more)); }
  std::string opening() {
    return refusal([&] { open_checkpoint(dir_); });
  }
  std::string requiring(const ModelConfig& model) {
    return refusal([&] { require_tensors(open_checkpoint(dir_), module_tree(model), model); });
  }
};

TEST_F(CheckpointFiles, TakesNamesWithAndWithoutModelPrefix) {
  for (const char* prefix : {"model.", ""}) {
    write_tensors("model.safetensors", one_layer(prefix));
    EXPECT_EQ(requiring(config()), "accepted");
    const Checkpoint checkpoint = open_checkpoint(dir_);
    const StoredTensor* q = checkpoint.find("model.layers.0.self_attn.q_proj.weight");
    ASSERT_NE(q, nullptr);
    EXPECT_EQ(q->entry.shape, (std::vector<int64_t>{4, 2}));
    EXPECT_EQ(checkpoint.find("layers.0.self_attn.q_proj.weight"), q);
    EXPECT_EQ(checkpoint.find("layers.0.self_attn.z_proj.weight"), nullptr);
  }
}

TEST_F(CheckpointFiles, TellsExtraTensorsButNotBuffers) {
  std::vector<Tensor> tensors = one_layer("model.");
  tensors.push_back({"model.layers.0.self_attn.rotary_emb.inv_freq", {1}});
  tensors.push_back({"model.layers.0.self_attn.q_proj.bias", {4}});
  tensors.push_back({"empty", {0}});
  write_tensors("model.safetensors", tensors);
  const ModelConfig model = config();
  EXPECT_EQ(requiring(model), "accepted");
  EXPECT_THAT(unused_tensors(open_checkpoint(dir_), module_tree(model)),
              ElementsAre("empty", "model.layers.0.self_attn.q_proj.bias"));
}

TEST_F(CheckpointFiles, TellsUnusedTensorsInShort) {
  std::vector<Tensor> tensors = one_layer("model.");
  const ModelConfig model = config();
  write_tensors("model.safetensors", tensors);
  EXPECT_THAT(unused_notes(open_checkpoint(dir_), module_tree(model)), ElementsAre());
  tensors.push_back({"model.layers.0.self_attn.q_proj.bias", {4}});
  tensors.push_back({"model.layers.0.self_attn.rotary_emb.inv_freq", {1}});
  tensors.push_back({"model.layers.7.eh_proj.weight", {4}});
  tensors.push_back({"model.layers.8.eh_proj.weight", {4}});
  for (int i = 0; i < 9; ++i) tensors.push_back({"spare" + std::to_string(i), {1}});
  write_tensors("model.safetensors", tensors);
  EXPECT_THAT(
      unused_notes(open_checkpoint(dir_), module_tree(model)),
      ElementsAre("stored biases are not used, config.json says there are none: model.layers.*.self_attn.q_proj.bias",
                  "stored tensors that this model does not use: model.layers.*.eh_proj.weight (2 of them), spare0, spare1, "
                  "spare2, spare3, spare4, spare5, spare6, and 2 more names"));
}

TEST_F(CheckpointFiles, FindsQueriesKeysAndValuesInOneWeight) {
  const ModelConfig sarvam = load_model_config(
      write("sarvam.json", R"({"model_type": "sarvam_moe", "vocab_size": 3, "hidden_size": 2, "intermediate_size": 2,
        "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 2, "use_qk_norm": false,
        "n_routed_experts": 4, "num_experts_per_tok": 1})"));
  const std::vector<ModuleSpec> modules = module_tree(sarvam);
  std::vector<Tensor> tensors = {{"model.layers.0.attention.query_key_value.weight", {16, 2}}};
  for (const ModuleSpec& module : modules) {
    if (module.stored_rows == 0) tensors.push_back({module.weight_name(), module.weight_shape});
  }
  const auto begins = [&] {
    write_tensors("model.safetensors", tensors);
    const Checkpoint checkpoint = open_checkpoint(dir_);
    require_tensors(checkpoint, modules, sarvam);
    std::vector<int64_t> rows;
    for (const ModuleSpec& module : modules) {
      if (module.stored_rows > 0) rows.push_back(weight_sources(checkpoint, module).at(0).row_begin);
    }
    return rows;
  };
  EXPECT_THAT(begins(), ElementsAre(0, -8, -12));
  tensors.front() = {"model.layers.0.self_attn.q_proj.weight", {8, 2}};
  tensors.push_back({"model.layers.0.self_attn.k_proj.weight", {4, 2}});
  tensors.push_back({"model.layers.0.self_attn.v_proj.weight", {4, 2}});
  EXPECT_THAT(begins(), ElementsAre(0, 0, 0));
  tensors.back() = {"model.layers.0.attention.query_key_value.weight", {15, 2}};
  try {
    begins();
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.text(),
                HasSubstr("`model.layers.0.self_attn.v_proj.weight` has shape [15, 2], config.json makes it [16, 2]"));
  }
}

TEST_F(CheckpointFiles, FindsTheHeadUnderEachOfItsNames) {
  const ModelConfig gpt_neox = load_model_config(
      write("neox.json", R"({"model_type": "gpt_neox", "vocab_size": 3, "hidden_size": 2, "intermediate_size": 2,
        "num_hidden_layers": 1, "num_attention_heads": 1, "rotary_pct": 1.0})"));
  const auto stored = [&](const std::string& name) {
    write_tensors("model.safetensors", {{name, {3, 2}}});
    return has_lm_head(open_checkpoint(dir_), module_tree(gpt_neox));
  };
  EXPECT_TRUE(stored("lm_head.weight"));
  EXPECT_TRUE(stored("embed_out.weight"));
  EXPECT_FALSE(stored("gpt_neox.embed_in.weight"));
}

TEST_F(CheckpointFiles, AHeadMayBeMissingOnlyWhenTied) {
  std::vector<Tensor> tensors = one_layer("model.");
  write_tensors("model.safetensors", tensors);
  EXPECT_EQ(requiring(config(R"(, "tie_word_embeddings": true})")), "accepted");
  tensors.pop_back();
  write_tensors("model.safetensors", tensors);
  EXPECT_EQ(requiring(config(R"(, "tie_word_embeddings": true})")), "accepted");
  EXPECT_EQ(requiring(config()),
            "DIR: 1 tensor does not fit config.json:\n  `lm_head.weight` is missing\n"
            "  fix: config.json and the weights must be of the same model");
}

TEST_F(CheckpointFiles, ListsEverythingThatDoesNotFit) {
  std::vector<Tensor> tensors = one_layer("model.");
  tensors[2].shape = {2, 4};
  tensors[6].dtype = "I64";
  tensors.erase(tensors.begin() + 3);
  write_tensors("model.safetensors", tensors);
  EXPECT_EQ(requiring(config()),
            "DIR: 3 tensors do not fit config.json:\n"
            "  `model.layers.0.self_attn.q_proj.weight` has shape [2, 4], config.json makes it [4, 2]\n"
            "  `model.layers.0.self_attn.k_proj.weight` is missing\n"
            "  `model.layers.0.post_attention_layernorm.weight` has dtype I64, not F32, BF16 or F16\n"
            "  fix: config.json and the weights must be of the same model");
}

TEST_F(CheckpointFiles, ListsShardsThatTheIndexNamesAndNobodyHas) {
  write_tensors("model-00001-of-00003.safetensors", one_layer("model."));
  write("model.safetensors.index.json",
        R"({"metadata": {}, "weight_map": {"a": "model-00001-of-00003.safetensors", "b": "model-00002-of-00003.safetensors",
            "c": "model-00003-of-00003.safetensors", "d": "model-00003-of-00003.safetensors"}})");
  EXPECT_EQ(opening(),
            "model.safetensors.index.json: names 2 of 3 files that do not exist:\n  model-00002-of-00003.safetensors\n"
            "  model-00003-of-00003.safetensors\n  fix: the model's download is not complete: get these files");
}

TEST_F(CheckpointFiles, HeadersWinOverAStaleIndexAndTheIndexBetweenDuplicates) {
  write_tensors("a.safetensors", {{"x", {1}}, {"moved", {2}}, {"twice", {3}}});
  write_tensors("b.safetensors", {{"y", {4}}, {"twice", {5}}, {"new", {6}}});
  write("model.safetensors.index.json",
        R"({"weight_map": {"x": "a.safetensors", "y": "b.safetensors", "moved": "b.safetensors", "gone": "a.safetensors",
            "twice": "a.safetensors"}})");
  const Checkpoint checkpoint = open_checkpoint(dir_);
  EXPECT_EQ(checkpoint.tensors.size(), 5u);
  EXPECT_EQ(checkpoint.find("moved")->file, 0);
  EXPECT_EQ(checkpoint.find("twice")->entry.shape, std::vector<int64_t>{3});
  EXPECT_EQ(checkpoint.find("new")->file, 1);
  EXPECT_EQ(checkpoint.find("gone"), nullptr);
}

TEST_F(CheckpointFiles, ASingleFileWinsOverAnIndexAndConsolidatedFilesArePassedOver) {
  write_tensors("model.safetensors", one_layer("model."));
  write("model.safetensors.index.json", R"({"weight_map": {"a": "gone.safetensors"}})");
  write("consolidated.safetensors", "not read");
  EXPECT_EQ(requiring(config()), "accepted");
}

TEST_F(CheckpointFiles, RefusesAnIndexOfAnotherForm) {
  const auto index = [&](const std::string& text) {
    write("model.safetensors.index.json", text);
    return opening();
  };
  EXPECT_EQ(index("[]"), "model.safetensors.index.json: has no `weight_map`\n  fix: get the file again");
  EXPECT_EQ(index(R"({"weight_map": {}})"), "model.safetensors.index.json: `weight_map` is empty\n  fix: get the file again");
  EXPECT_EQ(index(R"({"weight_map": {"a": "../../x.safetensors"}})"),
            "model.safetensors.index.json: `weight_map` gives `a` no plain file name: \"../../x.safetensors\"\n  fix: get the "
            "file again");
  EXPECT_EQ(index(R"({"weight_map": {"a": 1}})"),
            "model.safetensors.index.json: `weight_map` gives `a` no plain file name: 1\n  fix: get the file again");
  EXPECT_EQ(index(R"({"weight_map": {"a": "x", "a": "y"}})"),
            "model.safetensors.index.json:1:27: duplicate key `a`\n  fix: correct it there, or get the file again");
}

TEST_F(CheckpointFiles, SaysWhatADirectoryWithoutWeightsLacks) {
  EXPECT_EQ(opening(),
            "DIR: no model.safetensors and no model.safetensors.index.json\n  fix: the model's download is not complete");
  write("model-00001-of-00002.safetensors", "");
  EXPECT_THAT(opening(), HasSubstr("fix: the index is missing beside `model-00001-of-00002.safetensors`: get it again"));
  write("consolidated.00.pth", "");
  EXPECT_THAT(opening(),
              HasSubstr("fix: `consolidated.00.pth` is a format that is not supported: convert the model to safetensors"));
  EXPECT_EQ(refusal([&] { open_checkpoint(dir_ / "none"); }),
            "none: no such directory\n  fix: name a model's directory, or org/name of one that was downloaded");
}

TEST_F(CheckpointFiles, FollowsTheLinksOfACacheSnapshot) {
  write_tensors("blobs/0123", one_layer("model."));
  std::filesystem::create_directories(dir_ / "snapshots/main");
  std::filesystem::create_symlink("../../blobs/0123", dir_ / "snapshots/main/model.safetensors");
  EXPECT_EQ(open_checkpoint(dir_ / "snapshots/main").tensors.size(), 12u);
}

TEST_F(CheckpointFiles, RefusesQuantizedTensorsByMethod) {
  const auto with = [&](const Tensor& extra) {
    std::vector<Tensor> tensors = one_layer("model.");
    tensors.push_back(extra);
    write_tensors("model.safetensors", tensors);
    return requiring(config());
  };
  EXPECT_EQ(
      with({"model.layers.0.self_attn.q_proj.qweight", {1}, "I32"}),
      "DIR: the checkpoint is quantized (GPTQ or AWQ: tensor `model.layers.0.self_attn.q_proj.qweight`) in a way that its "
      "config.json does not describe, or that is not supported\n"
      "  fix: use the checkpoint in bfloat16, or one that docs/quantization.md has");
  EXPECT_THAT(with({"a.weight_scale_inv", {1}}),
              StartsWith("DIR: the checkpoint is quantized (FP8: tensor `a.weight_scale_inv`)"));
  EXPECT_THAT(with({"a.weight", {1}, "F8_E4M3"}), StartsWith("DIR: the checkpoint is quantized (FP8: tensor `a.weight`)"));
  EXPECT_THAT(with({"a.SCB", {1}}), StartsWith("DIR: the checkpoint is quantized (bitsandbytes: tensor `a.SCB`)"));
  EXPECT_THAT(with({"a.weight_packed", {1}, "I32"}), StartsWith("DIR: the checkpoint is quantized (compressed-tensors"));
}

TEST_F(CheckpointFiles, ChoosesTheDtype) {
  std::vector<Tensor> tensors = one_layer("model.");
  for (Tensor& tensor : tensors) tensor.dtype = "F16";
  write_tensors("model.safetensors", tensors);
  const ModelConfig with_dtype = config();
  ModelConfig without = with_dtype;
  without.dtype.reset();
  EXPECT_EQ(resolve_dtype("auto", with_dtype, open_checkpoint(dir_)), DType::kF16);
  EXPECT_EQ(resolve_dtype("bfloat16", with_dtype, open_checkpoint(dir_)), DType::kBF16);
  EXPECT_EQ(resolve_dtype("auto", without, open_checkpoint(dir_)), DType::kF16);
  tensors[4].dtype = "BF16";
  write_tensors("model.safetensors", tensors);
  EXPECT_EQ(resolve_dtype("auto", without, open_checkpoint(dir_)), DType::kBF16);
  tensors[1].dtype = "F32";
  write_tensors("model.safetensors", tensors);
  EXPECT_EQ(resolve_dtype("auto", without, open_checkpoint(dir_)), DType::kF32);
  EXPECT_EQ(resolve_dtype("auto", with_dtype, open_checkpoint(dir_)), DType::kF16);
  EXPECT_EQ(refusal([&] { resolve_dtype("fp16", with_dtype, open_checkpoint(dir_)); }),
            "--dtype: unknown dtype `fp16`\n  fix: use auto, float32, bfloat16 or float16");
}

TEST_F(CheckpointFiles, TheHashChangesWithAnyTensor) {
  std::vector<Tensor> tensors = one_layer("model.");
  write_tensors("model.safetensors", tensors);
  const uint64_t before = tensor_table_hash(open_checkpoint(dir_));
  EXPECT_EQ(tensor_table_hash(open_checkpoint(dir_)), before);
  tensors[0].dtype = "BF16";
  write_tensors("model.safetensors", tensors);
  EXPECT_NE(tensor_table_hash(open_checkpoint(dir_)), before);
}

}  // namespace
}  // namespace tp
