#include "launcher/node_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sharding/error.h"

namespace tp {
namespace {

NodePlace place_of(const NodeOptions& options, bool tpu, const Environment& preset) {
  return find_node_place(options, tpu, preset, [](const std::string&) { return std::nullopt; });
}

std::string refusal(const NodeOptions& options, bool tpu, const Environment& preset) {
  try {
    place_of(options, tpu, preset);
  } catch (const Error& error) {
    return error.text();
  }
  return "accepted";
}

TEST(NodePlace, CountsHostsNotVariables) {
  // A TPU VM of one host sets the variable too, to one name.
  EXPECT_FALSE(place_of({}, true, {{"TPU_WORKER_HOSTNAMES", "localhost"}}).several);
  // Off chips it means nothing.
  EXPECT_FALSE(place_of({}, false, {{"TPU_WORKER_HOSTNAMES", "h0,h1"}}).several);
  EXPECT_EQ(place_of({}, true, {{"TPU_WORKER_HOSTNAMES", "h0,h1"}, {"NODE_RANK", "1"}}).nnodes, 2);
}

TEST(NodePlace, IsThatOfAnIndexedJobsPod) {
  const NodePlace place = place_of({}, true, {{"TPU_WORKER_HOSTNAMES", "h0,h1"}, {"JOB_COMPLETION_INDEX", "1"}});
  EXPECT_TRUE(place.several);
  EXPECT_EQ(place.nnodes, 2);
  EXPECT_EQ(place.node_rank, 1);
  EXPECT_THAT(place.hosts, ::testing::ElementsAre("h0", "h1"));
  EXPECT_EQ(place_of({}, true, {{"TPU_WORKER_HOSTNAMES", "h0,h1"}, {"TPU_WORKER_ID", "1"}}).node_rank, 1);
}

TEST(NodePlace, TakesNamesOfHostsAlone) {
  const Environment index = {{"JOB_COMPLETION_INDEX", "1"}};
  const auto with = [&](const char* names) {
    Environment preset = index;
    preset["TPU_WORKER_HOSTNAMES"] = names;
    return preset;
  };
  EXPECT_THAT(place_of({}, true, with("h0,, h1 ,")).hosts, ::testing::ElementsAre("h0", "h1"));
  const std::string fix = "\n  fix: set it to the names of all hosts, with commas between";
  EXPECT_EQ(refusal({}, true, with("h0,h0")), "TPU_WORKER_HOSTNAMES: h0 is there twice" + fix);
  EXPECT_EQ(refusal({}, true, with("h 0,h1")), "TPU_WORKER_HOSTNAMES: `h 0` is not a host" + fix);
}

TEST(NodePlace, OfAJobWithOnePodIsThisHost) {
  const NodePlace place = place_of({}, true, {{"JOB_COMPLETION_INDEX", "0"}});
  EXPECT_TRUE(place.several);
  EXPECT_THAT(place.hosts, ::testing::ElementsAre("localhost"));
}

TEST(NodePlace, IsThatOfTheChipsInASliceWhoseTopologyIsSet) {
  Environment preset = {{"TPU_WORKER_HOSTNAMES", "h0,h1"}, {"JOB_COMPLETION_INDEX", "1"}};
  const NumberInSlice chips = [](const std::string& topology) {
    return topology == "2,4,1" ? std::optional<int>(0) : std::nullopt;
  };
  EXPECT_EQ(find_node_place({}, true, preset, chips).node_rank, 1);
  preset["TORCH_TPU_TOPOLOGY"] = "2,4,1";
  EXPECT_EQ(find_node_place({}, true, preset, chips).node_rank, 0);
  EXPECT_EQ(find_node_place({2, 1}, true, preset, chips).node_rank, 1);
  EXPECT_EQ(place_of({}, true, preset).node_rank, 1);
  preset["NODE_RANK"] = "1";
  EXPECT_EQ(find_node_place({}, true, preset, chips).node_rank, 1);
}

TEST(NodePlace, OfTheOptionsWins) {
  const NodePlace place = place_of({2, 0}, true, {{"TPU_WORKER_HOSTNAMES", "h0,h1"}, {"JOB_COMPLETION_INDEX", "1"}});
  EXPECT_EQ(place.node_rank, 0);
}

TEST(NodePlace, RefusesWhatContradictsItself) {
  EXPECT_EQ(refusal({3, 0}, true, {{"TPU_WORKER_HOSTNAMES", "h0,h1"}}),
            "TPU_WORKER_HOSTNAMES: names 2 hosts, --nnodes is 3\n  fix: set it to the names of all hosts, with commas between");
  EXPECT_EQ(refusal({}, true, {{"JOB_COMPLETION_INDEX", "1"}}), "--node-rank: 1 of 1 host\n  fix: --nnodes N");
  EXPECT_EQ(refusal({2, 2}, false, {}), "--node-rank: 2 of 2 hosts\n  fix: a number from 0 to 1");
  EXPECT_EQ(refusal({std::nullopt, 1}, false, {}), "--node-rank: 1 of 1 host\n  fix: --nnodes N");
  EXPECT_EQ(refusal({2, std::nullopt}, false, {}),
            "--node-rank: is needed with several hosts\n  fix: 0 on the first host, 1 on the second, …");
  EXPECT_EQ(refusal({}, true, {{"TPU_WORKER_HOSTNAMES", "h0,h1"}, {"JOB_COMPLETION_INDEX", "x"}}),
            "JOB_COMPLETION_INDEX: `x` is not a whole number\n  fix: unset it, or set it right");
}

}  // namespace
}  // namespace tp
