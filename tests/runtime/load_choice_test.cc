// What `--dtype float16` and `--load-format copy` give for a checkpoint with reference results.
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/collectives_inproc.h"
#include "runtime/engine_eager.h"
#include "tests/runtime/golden_case.h"

namespace tp {
namespace {

const GoldenCase& golden() {
  static const GoldenCase kCase(TPRUN_SOURCE_DIR "/tests/golden/models/tiny_qwen3_vocab101");
  return kCase;
}

// Logits of every position of prompt 2 on two ranks.
std::vector<float> logits_with(const std::string& dtype, bool in_place) {
  std::vector<float> result;
  run_ranks(2, [&](Communicator& communicator) {
    ModelRequest request;
    request.model_dir = golden().dir();
    request.plans_dir = TPRUN_SOURCE_DIR "/plans";
    request.dtype = dtype;
    request.load.layout = LinearLayout::kPacked;
    request.load.in_place = in_place;
    const RankModel model = load_rank_model(request, communicator);
    const std::unique_ptr<Engine> engine = make_eager_engine(model, communicator, {1, 32});
    const std::vector<int32_t> ids = golden().ids("prompt.2.input_ids");
    const auto length = static_cast<int32_t>(ids.size());
    Logits logits = engine->forward({1, length, ids, {0}, {length}, {0}, {length}}, LogitsWanted::kAll);
    if (communicator.rank() == 0) result = std::move(logits.data);
  });
  return result;
}

TEST(LoadChoice, Float16IsNearTheFloat32Reference) {
  const std::vector<float> got = logits_with("float16", true), want = golden().floats("prompt.2.logits");
  ASSERT_EQ(got.size(), want.size());
  double largest = 0, sum = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    largest = std::max(largest, static_cast<double>(std::abs(got[i] - want[i])));
    sum += std::abs(got[i] - want[i]);
  }
  EXPECT_LT(largest, 0.1);  // it has three bits more than bfloat16, of which 0.5 and 0.1 are asked
  EXPECT_LT(sum / static_cast<double>(want.size()), 0.02);
  EXPECT_GT(largest, 0);  // it was not float32
}

TEST(LoadChoice, CopiedWeightsGiveTheBitsOfMappedOnes) {
  for (const char* dtype : {"auto", "float32"}) EXPECT_EQ(logits_with(dtype, false), logits_with(dtype, true)) << dtype;
}

}  // namespace
}  // namespace tp
