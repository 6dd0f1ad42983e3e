#include "sharding/near_names.h"

#include <gtest/gtest.h>

namespace tp {
namespace {

TEST(NearNames, CountsEdits) {
  EXPECT_EQ(edit_distance("colwise", "colwise"), 0);
  EXPECT_EQ(edit_distance("colwize", "colwise"), 1);
  EXPECT_EQ(edit_distance("up_porj", "up_proj"), 1);  // two neighbours swapped
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
}

TEST(NearNames, OffersTheNearestFirst) {
  EXPECT_EQ(near_names("qwen", {"llama", "qwen3", "qwen2", "qwen2_moe"}), (std::vector<std::string>{"qwen2", "qwen3"}));
  EXPECT_EQ(near_names("zzz", {"llama"}), std::vector<std::string>{});
}

TEST(NearNames, WritesAQuestion) {
  EXPECT_EQ(did_you_mean("colwize", {"colwise", "rowwise"}), "did you mean `colwise`?");
  EXPECT_EQ(did_you_mean("qwen", {"qwen3", "qwen2"}), "did you mean `qwen2` or `qwen3`?");
  EXPECT_EQ(did_you_mean("zzz", {"colwise"}), "");
}

}  // namespace
}  // namespace tp
