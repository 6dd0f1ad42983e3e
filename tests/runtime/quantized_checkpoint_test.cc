// Checkpoints that were stored quantized (tests/golden/quantized) against the logits that transformers has for the weights that
// their integers stand for.
#include <gtest/gtest.h>

#include "runtime/collectives_inproc.h"
#include "runtime/engine_eager.h"
#include "tests/runtime/quantized_case.h"

namespace tp {
namespace {

struct Run {
  Logits logits;
  int64_t weights_bytes = 0;
};

Run run_case(const std::string& name, const std::vector<int32_t>& ids, int tp_size, const std::string& dtype = "float32") {
  Run result;
  run_ranks(tp_size, [&](Communicator& communicator) {
    ModelRequest request;
    request.model_dir = QuantizedCase(name).dir;
    request.plans_dir = TPRUN_SOURCE_DIR "/plans";
    request.dtype = dtype;
    request.load.layout = LinearLayout::kPacked;
    const RankModel model = load_rank_model(request, communicator);
    const auto engine = make_eager_engine(model, communicator, {1, static_cast<int64_t>(ids.size())});
    Logits logits = engine->forward(whole_prompt(ids), LogitsWanted::kAll);
    if (communicator.rank() == 0) result = {std::move(logits), model.weights.total_bytes()};
  });
  return result;
}

class QuantizedCheckpoint : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Stored, QuantizedCheckpoint, testing::ValuesIn(kQuantizedCases),
                         [](const auto& param) { return std::string(param.param); });

TEST_P(QuantizedCheckpoint, HasTheLogitsOfItsDequantizedWeightsOnOneTwoAndFourRanks) {
  const QuantizedCase golden(GetParam());
  for (int tp_size : {1, 2, 4})
    EXPECT_LT(golden.distance(run_case(GetParam(), golden.ids, tp_size).logits), 5e-4) << tp_size << " ranks";
}

// Elements of the linear weights between embedding and head, and those two with the norms.
constexpr int64_t kLinears = 4 * 128 * 64 + 3 * 128 * 64, kOthers = 2 * 64 * 64 + 3 * 64;
// Outputs x inputs / group of the linear weights, whatever their shape is.
constexpr int64_t kGroupsOf32 = kLinears / 32;

TEST(QuantizedCheckpointMemory, StaysPackedWhereTheKernelsHaveTheFormat) {
  const auto bytes = [](const char* name) { return run_case(name, {1, 2, 3}, 1, "bfloat16").weights_bytes; };
  EXPECT_EQ(bytes("compressed_int4"), kOthers * 2 + kLinears / 2 + kGroupsOf32 * 2);
  EXPECT_EQ(bytes("gptq"), kOthers * 2 + kLinears / 2 + kGroupsOf32 * 2);
  EXPECT_EQ(bytes("awq"), kOthers * 2 + kLinears / 2 + kGroupsOf32 * 4);
  // Groups of 64 are kept as twice as many of 32.
  EXPECT_EQ(bytes("gptq_zeros"), kOthers * 2 + kLinears / 2 + kGroupsOf32 * 4);
  EXPECT_EQ(bytes("compressed_int8"), kOthers * 2 + kLinears + (3 * 128 + 64 + 2 * 128 + 64) * 2);
  EXPECT_EQ(bytes("fp8_blocks"), kOthers * 2 + kLinears * 2);
}

}  // namespace
}  // namespace tp
