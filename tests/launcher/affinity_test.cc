#include "launcher/affinity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tp {
namespace {

using ::testing::ElementsAre;

// 4 cores with two hyperthreads each, numbered as Linux does: 0-3 are the first threads, 4-7 the second ones.
std::vector<Cpu> four_cores() {
  std::vector<Cpu> cpus;
  for (int core = 0; core < 4; ++core) {
    for (int thread = 0; thread < 2; ++thread) cpus.push_back({core + 4 * thread, core / 2, 0, core});
  }
  return cpus;
}

TEST(Affinity, GivesRanksDisjointWholeCores) {
  EXPECT_THAT(cpus_of_rank(four_cores(), 0, 2, 4), ElementsAre(0, 1, 4, 5));
  EXPECT_THAT(cpus_of_rank(four_cores(), 1, 2, 4), ElementsAre(2, 3, 6, 7));
  EXPECT_THAT(cpus_of_rank(four_cores(), 2, 3, 1), ElementsAre(2, 6));
  EXPECT_THAT(cpus_of_rank(four_cores(), 0, 1, 1), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(Affinity, IsNeverSmallerThanTheThreads) {
  EXPECT_THAT(cpus_of_rank(four_cores(), 1, 2, 5), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(cpus_of_rank(four_cores(), 7, 8, 1), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(Affinity, CountsCoresNotHyperthreads) {
  EXPECT_EQ(usable_cores(four_cores(), "/nonexistent"), 4);
}

}  // namespace
}  // namespace tp
