#include "runtime/score.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/collectives_inproc.h"
#include "runtime/logprobs.h"
#include "sharding/safetensors.h"
#include "tests/runtime/scripted_engine.h"
#include "tests/sharding/written_files.h"

namespace tp {
namespace {

constexpr int64_t kVocab = 31;

class Score : public WrittenFiles {
 protected:
  // Lines on stdout for `prompts`.
  static std::string lines_of(const std::vector<std::vector<int32_t>>& prompts, const std::string& output = "",
                              int stop_signal = 0, int64_t window = 0, int64_t stride = 0) {
    Job job;
    job.score_window = window;
    job.score_stride = stride;
    job.output = output;
    for (const auto& ids : prompts) job.prompts.push_back({ids});
    testing::internal::CaptureStdout();
    run_ranks(2, [&](Communicator& communicator) {
      ModelConfig config;
      config.vocab_size = kVocab;
      ParameterTable table({}, config, 0);
      Weights weights = none();
      const RankModel model{config, {}, std::move(table), std::move(weights), 0};
      ScriptedEngine engine(1, 64, kVocab);
      const std::atomic<int> signal{stop_signal};
      EXPECT_EQ(run_score(job, model, engine, communicator, signal), stop_signal);
    });
    return testing::internal::GetCapturedStdout();
  }

  static Weights none() { return Weights::load(ParameterTable({}, {}, 0), {}, DType::kF32, {}); }
};

TEST_F(Score, ALineForEachPromptAndNullForASingleToken) {
  // 23 follows 1, 2 with a logit of 10 among zeros; 2 does not follow 1.
  const double likely = std::log(1 + 30 * std::exp(-10.0)), unlikely = 10 + likely;
  const std::string lines = lines_of({{1, 2, 23}, {5}});
  const auto first = nlohmann::json::parse(lines.substr(0, lines.find('\n')));
  EXPECT_EQ(first["index"], 0);
  EXPECT_EQ(first["tokens"], 3);
  EXPECT_NEAR(first["nll"].get<double>(), likely + unlikely, 1e-6);
  EXPECT_NEAR(first["perplexity"].get<double>(), std::exp((likely + unlikely) / 2), 1e-4);
  EXPECT_EQ(first.size(), 4u);
  EXPECT_EQ(lines.substr(lines.find('\n') + 1), "{\"index\":1,\"tokens\":1,\"nll\":null,\"perplexity\":null}\n");
}

TEST_F(Score, WritesTheLogitsOfEveryPosition) {
  const std::string path = (dir_ / "logits.safetensors").string();
  lines_of({{1, 2}, {5}}, path);
  const auto entries = read_safetensors_header(path);
  ASSERT_EQ(entries.size(), 2u);
  const TensorEntry& entry = entries.at("logits.0");
  EXPECT_EQ(entry.dtype, DType::kF32);
  EXPECT_EQ(entry.shape, (std::vector<int64_t>{2, kVocab}));
  EXPECT_EQ(entries.at("logits.1").shape, (std::vector<int64_t>{1, kVocab}));
  std::ifstream file(path, std::ios::binary);
  file.seekg(entry.offset);
  std::vector<float> logits(2 * kVocab), want(2 * kVocab, 0.0f);
  file.read(reinterpret_cast<char*>(logits.data()), 2 * kVocab * 4);
  want[8] = 10;            // 7 * 1 + 1
  want[kVocab + 23] = 10;  // 7 * 3 + 2
  EXPECT_EQ(logits, want);
  EXPECT_EQ(std::filesystem::file_size(path), static_cast<uintmax_t>(entries.at("logits.1").offset) + kVocab * 4);
}

TEST_F(Score, ALongTextIsRunInWindows) {
  // Windows of 4 tokens that begin at 0, 2 and 4: tokens 1 to 3, 4 and 5, 6.
  const std::vector<int32_t> ids = {1, 8, 2, 9, 23, 5, 30};
  const double likely = std::log(1 + 30 * std::exp(-10.0)), unlikely = 10 + likely;
  double want = 0;
  for (const auto& [begin, target] : std::vector<std::pair<int, int>>{{0, 1}, {0, 2}, {0, 3}, {2, 4}, {2, 5}, {4, 6}}) {
    const bool hit =
        ScriptedEngine::next_token({ids.begin() + begin, ids.begin() + target}, kVocab) == ids[static_cast<size_t>(target)];
    want += hit ? likely : unlikely;
  }
  const auto line = nlohmann::json::parse(lines_of({ids}, "", 0, 4, 2));
  EXPECT_EQ(line["tokens"], 7);
  EXPECT_NEAR(line["nll"].get<double>(), want, 1e-6);
  const std::string path = (dir_ / "windows.safetensors").string();
  lines_of({ids}, path, 0, 4, 2);
  EXPECT_EQ(read_safetensors_header(path).at("logits.0").shape, (std::vector<int64_t>{7, kVocab}));
  const auto entry = read_safetensors_header(path).at("logits.0");
  EXPECT_EQ(std::filesystem::file_size(path), static_cast<uintmax_t>(entry.offset) + 7 * kVocab * 4);
}

TEST_F(Score, ASignalEndsItBetweenPrompts) {
  EXPECT_EQ(lines_of({{1, 2}}, "", 15), "");
}

TEST(NegativeLogLikelihood, IsTheLogOfTheSoftmax) {
  const std::vector<float> logits = {1, 2, 3};
  EXPECT_NEAR(negative_log_likelihood(logits.data(), 3, 0), 2.40760596, 1e-7);
  const std::vector<float> large = {1000, 0};
  EXPECT_NEAR(negative_log_likelihood(large.data(), 2, 0), 0, 1e-7);
  EXPECT_NEAR(negative_log_likelihood(large.data(), 2, 1), 1000, 1e-4);
}

}  // namespace
}  // namespace tp
