#include "sharding/style.h"

#include <gmock/gmock.h>

namespace tp {
namespace {

TEST(StyleTable, KnowsEveryNameOfHuggingFace) {
  for (const char* name : {"colwise",
                           "rowwise",
                           "colwise_gather_output",
                           "colwise_rep",
                           "rowwise_split_input",
                           "rowwise_rep",
                           "packed_colwise",
                           "packed_rowwise",
                           "embedding_rowwise",
                           "embedding_colwise",
                           "sequence_parallel",
                           "replicated_with_grad_allreduce",
                           "mla_kv_a_proj",
                           "all_reduce",
                           "moe_tp_experts",
                           "moe_identity_expert",
                           "local_params",
                           "replicate",
                           "grouped_gemm",
                           "ep_dispatch_experts"}) {
    EXPECT_TRUE(style_from_name(name).has_value()) << name;
  }
  EXPECT_EQ(style_from_name("colwize"), std::nullopt);
}

TEST(StyleTable, MapsOldNamesAndSaysSo) {
  bool old_name = false;
  EXPECT_EQ(style_from_name("colwise_rep", &old_name), Style::kColwiseGatherOutput);
  EXPECT_TRUE(old_name);
  EXPECT_EQ(style_from_name("rowwise_rep", &old_name), Style::kRowwiseSplitInput);
  EXPECT_TRUE(old_name);
  EXPECT_EQ(style_from_name("replicate", &old_name), Style::kReplicated);
  EXPECT_FALSE(old_name);
}

TEST(StyleTable, HasOneRowPerStyle) {
  for (int style = 0; style <= static_cast<int>(Style::kLocalParams); ++style) {
    EXPECT_EQ(style_info(static_cast<Style>(style)).style, static_cast<Style>(style));
  }
}

}  // namespace
}  // namespace tp
