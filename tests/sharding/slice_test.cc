#include "sharding/slice.h"

#include <gmock/gmock.h>

#include <numeric>
#include <random>
#include <stdexcept>

namespace tp {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Runs = std::vector<SliceRun>;

ModuleSpec linear(std::vector<int64_t> shape, int64_t heads_out = 0, int64_t heads_in = 0) {
  ModuleSpec module;
  module.name = "model.layers.0.x";
  module.weight_shape = std::move(shape);
  module.heads_out = heads_out;
  module.heads_in = heads_in;
  module.has_bias = true;
  return module;
}

TEST(Chunk, SplitsAsTorchChunkDoes) {
  EXPECT_EQ(chunk(257, 0, 4), (Range{0, 65}));
  EXPECT_EQ(chunk(257, 3, 4), (Range{195, 257}));
  EXPECT_EQ(chunk(5, 3, 4), (Range{5, 5}));
  EXPECT_EQ(chunk_length(257, 4), 65);
}

TEST(ShardSlice, ReplicatedIsWhole) {
  const ShardSlice slice = weight_slice(linear({6, 4}), Style::kReplicated, 1, 2);
  EXPECT_TRUE(slice.whole());
  EXPECT_THAT(slice.runs, IsEmpty());
  EXPECT_THAT(slice.local_shape, ElementsAre(6, 4));
  EXPECT_EQ(slice.stored_elements({6, 4}), 24);
}

TEST(ShardSlice, ColwiseCutsRowsAndBias) {
  const ModuleSpec module = linear({160, 64});
  const ShardSlice weight = weight_slice(module, Style::kColwise, 1, 4);
  EXPECT_EQ(weight.dim, 0);
  EXPECT_EQ(weight.runs, (Runs{{40, 40, 0}}));
  EXPECT_THAT(weight.local_shape, ElementsAre(40, 64));
  const ShardSlice bias = bias_slice(module, Style::kColwise, 1, 4);
  EXPECT_EQ(bias.runs, (Runs{{40, 40, 0}}));
  EXPECT_THAT(bias.local_shape, ElementsAre(40));
}

TEST(ShardSlice, ColwiseCutsOnHeadBoundaries) {
  const ShardSlice slice = weight_slice(linear({8 * 16, 64}, 8), Style::kColwise, 3, 4);
  EXPECT_EQ(slice.runs, (Runs{{96, 32, 0}}));
}

TEST(ShardSlice, PadsWhatDoesNotDivide) {
  const ShardSlice last = weight_slice(linear({10, 3}), Style::kColwise, 3, 4);
  EXPECT_EQ(last.runs, (Runs{{9, 1, 0}}));
  EXPECT_THAT(last.local_shape, ElementsAre(3, 3));
  EXPECT_EQ(last.stored_elements({10, 3}), 3);
  EXPECT_EQ(last.local_elements(), 9);
  const ShardSlice empty = weight_slice(linear({5, 3}), Style::kColwise, 3, 4);
  EXPECT_THAT(empty.runs, IsEmpty());
  EXPECT_THAT(empty.local_shape, ElementsAre(2, 3));
}

TEST(ShardSlice, RejectsIndivisibleHeads) {
  EXPECT_THROW(weight_slice(linear({3 * 16, 64}, 3), Style::kColwise, 0, 2), std::logic_error);
  EXPECT_THROW(weight_slice(linear({64, 3 * 16}, 0, 3), Style::kRowwise, 0, 2), std::logic_error);
}

TEST(ShardSlice, GatheredRowsIgnoreHeads) {
  const ShardSlice slice = weight_slice(linear({3 * 16, 64}, 3), Style::kColwiseGatherOutput, 1, 2);
  EXPECT_EQ(slice.runs, (Runs{{24, 24, 0}}));
}

TEST(ShardSlice, RowwiseCutsColumnsAndKeepsTheBiasWhole) {
  const ModuleSpec module = linear({64, 8 * 16}, 0, 8);
  const ShardSlice weight = weight_slice(module, Style::kRowwise, 1, 4);
  EXPECT_EQ(weight.dim, 1);
  EXPECT_EQ(weight.runs, (Runs{{32, 32, 0}}));
  EXPECT_THAT(weight.local_shape, ElementsAre(64, 32));
  const ShardSlice bias = bias_slice(module, Style::kRowwise, 1, 4);
  EXPECT_TRUE(bias.whole());
  EXPECT_THAT(bias.local_shape, ElementsAre(64));
}

TEST(ShardSlice, RowwiseSplitInputCutsPlainColumns) {
  const ShardSlice slice = weight_slice(linear({64, 3 * 16}, 0, 3), Style::kRowwiseSplitInput, 1, 2);
  EXPECT_EQ(slice.runs, (Runs{{24, 24, 0}}));
  EXPECT_THAT(slice.local_shape, ElementsAre(64, 24));
}

TEST(ShardSlice, EmbeddingRowwiseSplitsTheVocabulary) {
  const ShardSlice slice = weight_slice(linear({257, 64}), Style::kEmbeddingRowwise, 1, 2);
  EXPECT_EQ(slice.dim, 0);
  EXPECT_EQ(slice.runs, (Runs{{129, 128, 0}}));
  EXPECT_THAT(slice.local_shape, ElementsAre(129, 64));
}

TEST(ShardSlice, EmbeddingColwiseSplitsTheFeatures) {
  const ShardSlice slice = weight_slice(linear({257, 64}), Style::kEmbeddingColwise, 1, 2);
  EXPECT_EQ(slice.dim, 1);
  EXPECT_EQ(slice.runs, (Runs{{32, 32, 0}}));
}

TEST(ShardSlice, KvReplicatedGivesEveryRankOneHead) {
  const ModuleSpec module = linear({2 * 16, 64}, 2);
  const std::vector<int64_t> first_row = {0, 0, 16, 16};
  for (int rank = 0; rank < 4; ++rank) {
    const ShardSlice slice = weight_slice(module, Style::kKvReplicated, rank, 4);
    EXPECT_EQ(slice.runs, (Runs{{first_row[rank], 16, 0}})) << rank;
    EXPECT_EQ(bias_slice(module, Style::kKvReplicated, rank, 4).runs, slice.runs) << rank;
    EXPECT_THAT(slice.local_shape, ElementsAre(16, 64));
  }
}

TEST(ShardSlice, KvReplicatedIsColwiseWhereTheHeadsDivide) {
  const ModuleSpec module = linear({4 * 16, 64}, 4);
  EXPECT_EQ(weight_slice(module, Style::kKvReplicated, 1, 2).runs, (Runs{{32, 32, 0}}));
  EXPECT_THROW(weight_slice(module, Style::kKvReplicated, 1, 6), std::logic_error);
}

TEST(ShardSlice, PackedColwiseCutsEveryPart) {
  ModuleSpec qkv = linear({(8 + 2 + 2) * 16, 64});
  qkv.parts = {{128, 8}, {32, 2}, {32, 2}};
  const ShardSlice slice = weight_slice(qkv, Style::kPackedColwise, 1, 2);
  EXPECT_EQ(slice.runs, (Runs{{64, 64, 0}, {144, 16, 64}, {176, 16, 80}}));
  EXPECT_THAT(slice.local_shape, ElementsAre(96, 64));
  EXPECT_EQ(bias_slice(qkv, Style::kPackedColwise, 1, 2).runs, slice.runs);
  EXPECT_EQ(weight_slice(qkv, Style::kPackedColwise, 0, 1).runs, (Runs{{0, 192, 0}}));
}

TEST(ShardSlice, PackedColwisePadsEveryPartOnItsOwn) {
  ModuleSpec gate_up = linear({10, 4});
  gate_up.parts = {{5, 0}, {5, 0}};
  const ShardSlice slice = weight_slice(gate_up, Style::kPackedColwise, 1, 2);
  EXPECT_EQ(slice.runs, (Runs{{3, 2, 0}, {8, 2, 3}}));
  EXPECT_THAT(slice.local_shape, ElementsAre(6, 4));
}

TEST(ShardSlice, KvReplicatedOnFusedQkv) {
  ModuleSpec qkv = linear({(8 + 2 + 2) * 16, 64});
  qkv.parts = {{128, 8}, {32, 2}, {32, 2}};
  const ShardSlice slice = weight_slice(qkv, Style::kKvReplicated, 3, 4);
  EXPECT_EQ(slice.runs, (Runs{{96, 32, 0}, {144, 16, 32}, {176, 16, 48}}));
}

TEST(ShardSlice, PlainColwiseOnAFusedWeightIsRejected) {
  ModuleSpec gate_up = linear({10, 4});
  gate_up.parts = {{5, 0}, {5, 0}};
  EXPECT_THROW(weight_slice(gate_up, Style::kColwise, 0, 2), std::logic_error);
}

TEST(ShardSlice, HeadByHeadFusedQkvIsCutOnHeadBoundaries) {
  const ShardSlice slice = weight_slice(linear({8 * 3 * 16, 64}, 8), Style::kColwise, 1, 2);
  EXPECT_EQ(slice.runs, (Runs{{192, 192, 0}}));
}

TEST(ShardSlice, StackedExpertsAreCutInsideOrByExpert) {
  ModuleSpec gate_up = linear({4, 20, 8});
  gate_up.parts = {{10, 0}, {10, 0}};
  EXPECT_EQ(weight_slice(gate_up, Style::kPackedColwise, 1, 2).dim, 1);
  EXPECT_EQ(weight_slice(gate_up, Style::kPackedColwise, 1, 2).runs, (Runs{{5, 5, 0}, {15, 5, 5}}));
  EXPECT_THAT(bias_slice(gate_up, Style::kPackedColwise, 1, 2).local_shape, ElementsAre(4, 10));
  EXPECT_EQ(weight_slice(linear({4, 8, 10}), Style::kRowwise, 1, 2).dim, 2);
  EXPECT_EQ(weight_slice(gate_up, Style::kGroupedGemm, 1, 2).runs, (Runs{{2, 2, 0}}));
  EXPECT_THAT(weight_slice(gate_up, Style::kGroupedGemm, 1, 2).local_shape, ElementsAre(2, 20, 8));
}

TEST(ShardSlice, UnevenHeadsAreDealtOutInWholeGroups) {
  ModuleSpec q = linear({9 * 4, 64}, 9);
  q.heads_per_group = 3;
  EXPECT_EQ(weight_slice(q, Style::kColwise, 0, 2).runs, (Runs{{0, 24, 0}}));
  EXPECT_EQ(weight_slice(q, Style::kColwise, 1, 2).runs, (Runs{{24, 12, 0}}));
  EXPECT_THAT(weight_slice(q, Style::kColwise, 1, 2).local_shape, ElementsAre(24, 64));
  EXPECT_THAT(weight_slice(q, Style::kColwise, 3, 4).runs, IsEmpty());
  EXPECT_THAT(weight_slice(q, Style::kColwise, 3, 4).local_shape, ElementsAre(12, 64));
}

TEST(ShardSlice, FeaturesOfFusedParts) {
  ModuleSpec qkv = linear({(8 + 2 + 2) * 16, 64});
  qkv.parts = {{128, 8}, {32, 2}, {32, 2}};
  EXPECT_THAT(part_features_local(qkv, Style::kPackedColwise, 2), ElementsAre(64, 16, 16));
  EXPECT_THAT(part_features_local(qkv, Style::kKvReplicated, 4), ElementsAre(32, 16, 16));
  EXPECT_THAT(part_features_local(qkv, Style::kColwiseGatherOutput, 4), ElementsAre(128, 32, 32));
}

// How many ranks hold each index of the cut dimension; checks that runs are in order, inside the local tensor and disjoint.
std::vector<int> coverage(const ModuleSpec& module, Style style, int tp_size) {
  std::vector<int> holders;
  std::vector<int64_t> first_shape;
  for (int rank = 0; rank < tp_size; ++rank) {
    const ShardSlice slice = weight_slice(module, style, rank, tp_size);
    if (rank == 0) {
      first_shape = slice.local_shape;
      holders.assign(slice.whole() ? 1 : module.weight_shape[slice.dim], 0);
    }
    EXPECT_EQ(slice.local_shape, first_shape);
    if (slice.whole()) ++holders[0];
    int64_t target = 0;
    for (const SliceRun& run : slice.runs) {
      EXPECT_GT(run.count, 0);
      EXPECT_GE(run.target_begin, target);
      target = run.target_begin + run.count;
      for (int64_t i = 0; i < run.count; ++i) ++holders.at(run.source_begin + i);
    }
    EXPECT_LE(target, slice.whole() ? 0 : slice.local_shape[slice.dim]);
  }
  return holders;
}

// A random module together with a style that can cut it, and the number of ranks that must hold each element.
struct Case {
  ModuleSpec module;
  Style style;
  int holders;
};

Case random_case(std::mt19937& random, int tp_size) {
  const auto below = [&](int n) { return static_cast<int64_t>(random() % n); };
  const int64_t head_dim = 1 + below(5), in = 1 + below(20), out = 1 + below(70);
  const int64_t heads = tp_size * (1 + below(3));
  switch (below(9)) {
    case 0:
      return {linear({out, in}), Style::kColwise, 1};
    case 1:
      return {linear({out, in}), Style::kEmbeddingRowwise, 1};
    case 2:
      return {linear({out, in}, 1), Style::kColwiseGatherOutput, 1};
    case 3:
      return {linear({heads * head_dim, in}, heads), Style::kColwise, 1};
    case 4:
      return {linear({out, heads * head_dim}, 0, heads), Style::kRowwise, 1};
    case 5:
      return {linear({out, in}), Style::kRowwiseSplitInput, 1};
    case 6: {
      int64_t kv_heads = 1 + below(tp_size);
      while (tp_size % kv_heads != 0) --kv_heads;
      return {linear({kv_heads * head_dim, in}, kv_heads), Style::kKvReplicated, static_cast<int>(tp_size / kv_heads)};
    }
    case 7: {
      ModuleSpec fused = linear({heads * head_dim + 2 * out, in});
      fused.parts = {{heads * head_dim, heads}, {out, 0}, {out, 0}};
      return {fused, Style::kPackedColwise, 1};
    }
    default:
      return {linear({out, in}), Style::kReplicated, tp_size};
  }
}

TEST(ShardSlice, RanksTogetherHoldEveryElement) {
  const unsigned seed = 20240607;
  std::mt19937 random(seed);
  for (int round = 0; round < 3000; ++round) {
    const int tp_size = 1 + static_cast<int>(random() % 8);
    const Case c = random_case(random, tp_size);
    for (int count : coverage(c.module, c.style, tp_size)) {
      ASSERT_EQ(count, c.holders) << "seed " << seed << ", round " << round << ", " << style_info(c.style).name << ", tp "
                                  << tp_size;
    }
  }
}

}  // namespace
}  // namespace tp
