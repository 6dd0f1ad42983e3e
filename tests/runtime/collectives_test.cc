#include "runtime/collectives.h"

#include <gtest/gtest.h>

#include "runtime/collectives_inproc.h"
#include "sharding/error.h"

namespace tp {
namespace {

TEST(InprocCollectives, SumsInRankOrderWithTheSameBitsEverywhere) {
  // 1e8 + 1 is not a float32: the order of the sum shows in its bits.
  const std::vector<float> parts = {1e8f, 1.0f, -1e8f, 1.0f};
  std::vector<float> sums(4);
  run_ranks(4, [&](Communicator& communicator) {
    float value = parts[static_cast<size_t>(communicator.rank())];
    communicator.all_reduce_sum(&value, 1);
    sums[static_cast<size_t>(communicator.rank())] = value;
  });
  EXPECT_EQ(sums, (std::vector<float>{1.0f, 1.0f, 1.0f, 1.0f}));
}

TEST(InprocCollectives, GathersInRankOrderAndCountsWhatTheModelSends) {
  run_ranks(3, [](Communicator& communicator) {
    const int32_t mine = 10 + communicator.rank();
    std::vector<int32_t> all(3);
    communicator.all_gather(&mine, all.data(), sizeof(mine));
    float value = 1;
    communicator.all_reduce_sum(&value, 1);
    communicator.barrier();
    if (all != std::vector<int32_t>{10, 11, 12}) throw Error("", "gathered wrong");
    const auto& counts = communicator.counts();
    if (counts.size() != 2 || counts.at("all_gather").count != 1 || counts.at("all_gather").bytes != 12 ||
        counts.at("all_reduce").count != 1 || counts.at("all_reduce").bytes != 4)
      throw Error("", "counted wrong");
  });
}

TEST(InprocCollectives, ControlMessagesReachEveryRank) {
  run_ranks(2, [](Communicator& communicator) {
    const bool root = communicator.rank() == 1;
    if (communicator.broadcast_text(root ? "from one" : "ignored", 1) != "from one") throw Error("", "text");
    if (communicator.max(communicator.rank() == 0 ? 7 : 3) != 7) throw Error("", "max");
    const std::vector<std::string> texts = communicator.collect(communicator.rank() == 0 ? "a" : "longer");
    if (texts != std::vector<std::string>{"a", "longer"}) throw Error("", "texts");
    if (!communicator.counts().empty()) throw Error("", "control messages are counted");
  });
}

TEST(InprocCollectives, AFailingRankEndsTheOthersWaits) {
  try {
    run_ranks(3, [](Communicator& communicator) {
      if (communicator.rank() == 2) throw Error("rank 2", "broke");
      communicator.barrier();
    });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.text(), "rank 2: broke");
  }
}

TEST(InprocCollectives, ATimeoutNamesTheOperationAndTheMissingRanks) {
  try {
    run_ranks(
        3,
        [](Communicator& communicator) {
          if (communicator.rank() == 0) communicator.barrier();
        },
        0.05);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.text(), "barrier: timed out waiting for rank 1, rank 2");
  }
}

}  // namespace
}  // namespace tp
