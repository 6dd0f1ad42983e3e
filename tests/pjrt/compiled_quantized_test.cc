// Weights that stay integers in compiled programs, one device per rank in one process: against the references, and against the
// CPU engine.
#include <gtest/gtest.h>

#include "runtime/collectives_inproc.h"
#include "runtime/engine_compiled.h"
#include "runtime/engine_eager.h"
#include "runtime/stablehlo_program.h"
#include "sharding/error.h"
#include "sharding/plan_report.h"
#include "tests/runtime/quantized_case.h"

namespace tp {
namespace {

const std::string kSource = TPRUN_SOURCE_DIR;
const std::vector<int32_t> kIds = {1, 17, 5, 42, 8, 30, 11, 3, 60, 22, 9};

ModelRequest request_for(const std::string& dir, const std::string& dtype, WeightKind kind = WeightKind::kStored) {
  ModelRequest request;
  request.model_dir = dir;
  request.plans_dir = kSource + "/plans";
  request.dtype = dtype;
  request.kind = kind;
  return request;
}

// Logits of a whole prompt, then those of one more token.
struct Pass {
  Logits prompt, step;
};

Pass pass(Engine& engine, const std::vector<int32_t>& ids) {
  const auto length = static_cast<int32_t>(ids.size());
  Pass pass;
  pass.prompt = engine.forward(whole_prompt(ids), LogitsWanted::kAll);
  pass.step = engine.forward({1, 1, {ids[0]}, {length}, {1}, {0}, {length + 1}}, LogitsWanted::kLast);
  return pass;
}

Pass on_cpu(ModelRequest request, const std::vector<int32_t>& ids) {
  request.load.layout = LinearLayout::kPacked;
  Pass result;
  run_ranks(1, [&](Communicator& communicator) {
    const RankModel model = load_rank_model(request, communicator);
    result = pass(*make_eager_engine(model, communicator, {1, 32}), ids);
  });
  return result;
}

using RankModels = std::vector<std::unique_ptr<RankModel>>;

RankModels load(const ModelRequest& request, int tp_size) {
  RankModels models(static_cast<size_t>(tp_size));
  run_ranks(tp_size, [&](Communicator& communicator) {
    models[static_cast<size_t>(communicator.rank())] = std::make_unique<RankModel>(load_rank_model(request, communicator));
  });
  return models;
}

Pass compiled(const ModelRequest& request, int tp_size, const std::vector<int32_t>& ids, bool op_by_op = false) {
  const RankModels models = load(request, tp_size);
  const auto client = PjrtClient::create(PjrtPlugin::load(CPU_PLUGIN), {.create = {{"cpu_device_count", tp_size}}});
  std::vector<const RankModel*> shards;
  for (const auto& model : models) shards.push_back(model.get());
  Pass result;
  run_ranks(1, [&](Communicator& communicator) {
    const auto engine =
        make_compiled_engine(shards, client, communicator, {.slots = 1, .cache_len = 32, .op_by_op = op_by_op});
    result = pass(*engine, ids);
  });
  return result;
}

// What a step's program takes, of one rank.
HloProgram decode_program(const RankModel& model) {
  const Decoder decoder(model.config, model.table, model.weights.dtype());
  return trace_decode({model.config, model.table, decoder, tied_storage(model.config, model.table), model.weights.dtype(),
                       model.plan.tp_size},
                      1, 32);
}

class CompiledQuantized : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string(CPU_PLUGIN).empty()) GTEST_SKIP() << "lammps-jax-pjrt-cpu is not installed in the project's venv";
    setenv("XLA_FLAGS", QUICK_XLA_FLAGS, /*overwrite=*/0);
  }
};

class CompiledCheckpoint : public CompiledQuantized, public testing::WithParamInterface<const char*> {};

INSTANTIATE_TEST_SUITE_P(Stored, CompiledCheckpoint, testing::ValuesIn(kQuantizedCases),
                         [](const auto& param) { return std::string(param.param); });

TEST_P(CompiledCheckpoint, HasTheLogitsOfItsDequantizedWeightsOnOneTwoAndFourRanks) {
  const QuantizedCase golden(GetParam());
  const Pass cpu = on_cpu(request_for(golden.dir, "float32"), golden.ids);
  // What is widened while it is loaded is any other weight then.
  const bool packed = load(request_for(golden.dir, "float32"), 1)[0]->table.at(1).kind != WeightKind::kStored;
  for (int tp_size : packed ? std::vector<int>{1, 2, 4} : std::vector<int>{2}) {
    const Pass chips = compiled(request_for(golden.dir, "float32"), tp_size, golden.ids);
    EXPECT_LT(golden.distance(chips.prompt), 5e-4) << tp_size << " ranks";
    EXPECT_LT(largest_difference(chips.step, cpu.step), 5e-4) << tp_size << " ranks";
  }
}

struct Made {
  WeightKind kind;
  int tp_size;
};

void PrintTo(const Made& made, std::ostream* out) {
  *out << weight_kind_name(made.kind);
}

class CompiledWeights : public CompiledQuantized, public testing::WithParamInterface<Made> {};

// The 384 inputs of down_proj over two ranks are no groups of 128.
INSTANTIATE_TEST_SUITE_P(Made, CompiledWeights,
                         testing::Values(Made{WeightKind::kInt8, 4}, Made{WeightKind::kInt4Group32, 4},
                                         Made{WeightKind::kInt4Group128, 1}),
                         [](const auto& param) {
                           std::string name(weight_kind_name(param.param.kind));
                           std::erase(name, '-');
                           return name;
                         });

TEST_P(CompiledWeights, AreThoseOfTheCpu) {
  const auto [kind, tp_size] = GetParam();
  const ModelRequest exact = request_for(kSource + "/examples/tiny", "float32", kind);
  const Pass cpu = on_cpu(exact, kIds), chips = compiled(exact, tp_size, kIds);
  EXPECT_LT(largest_difference(chips.prompt, cpu.prompt), 1e-3);
  EXPECT_LT(largest_difference(chips.step, cpu.step), 1e-3);
}

TEST_P(CompiledWeights, TakeTheMemoryThatPlanShowSays) {
  for (const auto& model : load(request_for(kSource + "/examples/tiny", "bfloat16", GetParam().kind), GetParam().tp_size)) {
    int64_t bytes = 0;
    for (const HloInput& input : decode_program(*model).inputs)
      if (is_weight(input.kind)) bytes += input.type.size_bytes();
    EXPECT_EQ(bytes, plan_report(model->plan, model->config, model->weights.dtype(), true).bytes_per_chip);
    EXPECT_EQ(bytes, model->weights.total_bytes());
  }
}

TEST_F(CompiledQuantized, OperationByOperationTheyAreTheSame) {
  const QuantizedCase golden("awq");
  EXPECT_LT(golden.distance(compiled(request_for(golden.dir, "float32"), 2, golden.ids, /*op_by_op=*/true).prompt), 5e-4);
}

TEST_F(CompiledQuantized, InBfloat16TheyAreWithinItsRoundingOfTheCpu) {
  for (const char* name : {"awq", "compressed_int8"}) {
    const QuantizedCase golden(name);
    const ModelRequest request = request_for(golden.dir, "bfloat16");
    EXPECT_LT(largest_difference(compiled(request, 2, golden.ids).prompt, on_cpu(request, golden.ids).prompt), 0.1) << name;
  }
}

// 56 inputs of w2 end within their second group; the prompt takes all experts, the step its chosen ones.
TEST_F(CompiledQuantized, ExpertsAreThoseOfTheCpu) {
  for (WeightKind kind : {WeightKind::kInt8, WeightKind::kInt4Group32}) {
    const ModelRequest request = request_for(kSource + "/tests/golden/models/tiny_mixtral", "float32", kind);
    const Pass cpu = on_cpu(request, kIds), chips = compiled(request, 1, kIds);
    EXPECT_LT(largest_difference(chips.prompt, cpu.prompt), 1e-3) << weight_kind_name(kind);
    EXPECT_LT(largest_difference(chips.step, cpu.step), 1e-3) << weight_kind_name(kind);
  }
}

// w = (q - zero) * scale, q with a sign, inputs before outputs.
TEST_F(CompiledQuantized, AProgramSaysHowItsIntegersAreWidened) {
  const RankModels models = load(request_for(kSource + "/tests/golden/quantized/awq", "bfloat16"), 2);
  const std::string text = decode_program(*models[0]).text, name = "%model.layers.0.self_attn.q_proj.weight";
  for (const std::string argument : {": tensor<64x64xi4>", "_scale: tensor<2x64xf16>", "_zero_point: tensor<2x64xbf16>"})
    EXPECT_NE(text.find(name + argument), std::string::npos) << argument;
}

}  // namespace
}  // namespace tp
