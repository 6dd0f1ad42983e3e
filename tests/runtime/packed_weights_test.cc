#include "runtime/packed_weights.h"

#include <gtest/gtest.h>

#include <cstring>

#include "runtime/linear_weights.h"
#include "runtime/weights.h"
#include "sharding/plan_yaml.h"
#include "tests/runtime/made_checkpoint.h"
#include "tests/runtime/resident_memory.h"
#include "tests/sharding/written_files.h"

namespace tp {
namespace {

using Floats = std::vector<float>;

class PackedWeightsTest : public WrittenFiles {
 protected:
  Weights load(const ParameterTable& table, DType dtype, LinearLayout layout) const {
    return Weights::load(table, open_checkpoint(dir_), dtype, {layout, true, 2, {}});
  }

  // The rows of a parameter, found by multiplying with one input after the other.
  Floats unpacked(const ParameterTable& table, const PackedWeights& weights, ParamId id) {
    const cpu::PackedLinear& product = weights.product(id);
    const auto in = static_cast<size_t>(product.in());
    const int64_t rows = table.at(id).shape()[0];
    Floats ones(in * in, 0.0f), y(in * static_cast<size_t>(product.out())), result;
    for (size_t i = 0; i < in; ++i) ones[i * in + i] = 1.0f;
    product.run({ones.data(), DType::kF32, product.in()}, product.in(), {y.data(), DType::kF32, product.out()},
                {pool_, cpu::KernelChoice::only(cpu::Isa::kPlain)});
    for (int64_t row = 0; row < rows; ++row)
      for (size_t i = 0; i < in; ++i)
        result.push_back(y[i * static_cast<size_t>(product.out()) + static_cast<size_t>(weights.out_begin(id) + row)]);
    return result;
  }

  cpu::ThreadPool pool_{1};
};

TEST_F(PackedWeightsTest, EveryLinearHoldsItsSliceOnEveryRank) {
  MadeCheckpoint{
      .vocab = 5, .hidden = 8, .intermediate = 3, .value = [](int64_t t, int64_t i) { return static_cast<float>(100 * t + i); }}
      .write(dir_);
  for (int rank : {0, 1}) {
    const ParameterTable table = made_table(dir_, 2, rank);
    const Weights stored = load(table, DType::kF32, LinearLayout::kStored),
                  packed = load(table, DType::kF32, LinearLayout::kPacked);
    EXPECT_EQ(packed.total_bytes(), stored.total_bytes());
    for (ParamId id = 0; id < table.size(); ++id) {
      Floats want(static_cast<size_t>(table.at(id).elements()));
      std::memcpy(want.data(), stored.data(id), want.size() * sizeof(float));
      if (is_linear_weight(table.at(id))) {
        EXPECT_EQ(unpacked(table, packed.packed(), id), want) << "rank " << rank << " " << table.at(id).name();
        EXPECT_EQ(packed.data(id), nullptr);
      } else {
        EXPECT_EQ(std::memcmp(packed.data(id), want.data(), want.size() * sizeof(float)), 0) << table.at(id).name();
      }
    }
  }
}

TEST_F(PackedWeightsTest, QueriesKeysAndValuesAreOneProductUnlessAPlanGathersOne) {
  MadeCheckpoint{.value = [](int64_t, int64_t) { return 1.0f; }}.write(dir_);
  const ParameterTable table = made_table(dir_, 2, 0);
  const Weights weights = load(table, DType::kF32, LinearLayout::kPacked);
  const ParamId q = table.weight(Role::kQ, 0), k = table.weight(Role::kK, 0), v = table.weight(Role::kV, 0);
  EXPECT_EQ(joined_linears(table),
            (std::vector<std::vector<ParamId>>{{q, k, v}, {table.weight(Role::kGate, 0), table.weight(Role::kUp, 0)}}));
  EXPECT_EQ(&weights.packed().product(q), &weights.packed().product(v));
  EXPECT_EQ(weights.packed().out_begin(k), 4);
  EXPECT_EQ(weights.packed().out_begin(v), 8);
  EXPECT_EQ(weights.packed().product(q).out(), 12);

  const ModelConfig config = load_model_config(dir_);
  PlanRequest request;
  request.overrides = {"layers.*.mlp.up_proj=colwise_gather_output", "layers.*.mlp.gate_proj=colwise_gather_output",
                       "layers.*.mlp.down_proj=replicated"};
  const ParameterTable gathered(resolve_plan(load_plan(request, config, TPRUN_SOURCE_DIR "/plans"), config, 2), config, 0);
  EXPECT_EQ(joined_linears(gathered).size(), 1u);
}

// 66 MB in bfloat16.
TEST_F(PackedWeightsTest, MemoryIsWhatThisRankHoldsAndNothingOfTheFileStays) {
  MadeCheckpoint{.vocab = 8000, .hidden = 1024, .intermediate = 4096, .heads = 16, .kv_heads = 16, .dtype = "BF16"}.write(dir_);
  constexpr int64_t kSlack = 4 << 20;
  const ParameterTable table = made_table(dir_, 2, 1);
  const ResidentMemory before = resident_memory();
  const Weights weights = load(table, DType::kBF16, LinearLayout::kPacked);
  const ResidentMemory after = resident_memory();
  EXPECT_LT(after.anonymous - before.anonymous, weights.total_bytes() + kSlack);
  // The embedding's part alone may be mapped.
  EXPECT_LT(after.file - before.file, 4000 * 1024 * 2 + kSlack);
}

}  // namespace
}  // namespace tp
