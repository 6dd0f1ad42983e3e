#include "runtime/largest_logit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "sharding/error.h"

namespace tp {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

std::string error_of(const LargestLogit& largest) {
  try {
    return std::to_string(require_token(largest));
  } catch (const Error& error) {
    return error.text();
  }
}

TEST(LargestLogit, TiesTakeTheLowerIdWhereverTheyLie) {
  std::vector<float> logits(50, -1.0f);
  for (const size_t at : {size_t{0}, size_t{15}, size_t{16}, size_t{33}, size_t{49}}) {
    std::vector<float> one = logits;
    one[at] = 2.5f;
    one.back() = 2.5f;
    const LargestLogit found = largest_logit(one.data(), 50, 100);
    EXPECT_EQ(found.id, 100 + static_cast<int32_t>(at));
    EXPECT_EQ(found.logit, 2.5f);
  }
}

TEST(LargestLogit, OfTwoRanksTheLowerIdsWinATie) {
  EXPECT_EQ(larger_logit({3, 1.0f}, {9, 1.0f}).id, 3);
  EXPECT_EQ(larger_logit({3, 1.0f}, {9, 1.5f}).id, 9);
  EXPECT_EQ(larger_logit({}, {9, -5.0f}).id, 9);  // the first rank has padding alone
  EXPECT_EQ(larger_logit({3, -5.0f}, {}).id, 3);
}

TEST(LargestLogit, WhatIsNotANumberIsNamed) {
  const std::vector<float> logits = {1.0f, std::nanf(""), 7.0f};
  const LargestLogit found = largest_logit(logits.data(), 3, 10);
  EXPECT_EQ(error_of(found), "sampling: the logit of token 11 is not a number");
  EXPECT_EQ(error_of(larger_logit({3, 1.0f}, found)), "sampling: the logit of token 11 is not a number");
  EXPECT_EQ(error_of(larger_logit(found, {30, 1.0f})), "sampling: the logit of token 11 is not a number");
}

TEST(LargestLogit, NothingIsLeftWhereAllAreForbidden) {
  const std::vector<float> logits(20, kNever);
  EXPECT_EQ(largest_logit(logits.data(), 20, 0).id, -1);
  EXPECT_EQ(error_of(largest_logit(logits.data(), 20, 0)), "sampling: no token is left to choose from");
}

}  // namespace
}  // namespace tp
