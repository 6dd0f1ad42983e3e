// The fake slice seen by plain PJRT clients, one process per rank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "tests/fake_slice/rank_process.h"

namespace tp {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

// Addresses that no other test run has at the same time; nothing is bound to them.
std::string addresses(int ranks) {
  static int jobs = 0;
  std::string list;
  for (int r = 0; r < ranks; ++r) {
    list += (r == 0 ? "" : ",") + ("test-" + std::to_string(getpid()) + "-" + std::to_string(jobs)) + ":" + std::to_string(r);
  }
  ++jobs;
  return list;
}

RankProcess start(int rank, const std::string& list, int steps, Variables variables = {}, const std::string& host_bytes = "0") {
  variables["TPU_PROCESS_ADDRESSES"] = list;
  variables["CLOUD_TPU_TASK_ID"] = std::to_string(rank);
  return {{SLICE_RANK, FAKE_SLICE, std::to_string(steps), host_bytes}, variables};
}

std::set<std::string> shared_memory() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) names.insert(entry.path().filename());
  return names;
}

class FakeSlice : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string(CPU_PLUGIN).empty()) GTEST_SKIP() << "lammps-jax-pjrt-cpu is not installed in the project's venv";
  }
};

TEST_F(FakeSlice, RunsUnderMpirun) {
  const std::string rank = "CLOUD_TPU_TASK_ID=$OMPI_COMM_WORLD_RANK exec " SLICE_RANK " " FAKE_SLICE " 3";
  RankProcess job({"mpirun", "-np", "4", "--allow-run-as-root", "--oversubscribe", "sh", "-c", rank},
                  {{"TPU_PROCESS_ADDRESSES", addresses(4)}});
  EXPECT_EQ(job.wait(30s), 0) << job.output();
  for (int r = 0; r < 4; ++r) {
    const std::string name = "rank " + std::to_string(r);
    EXPECT_THAT(job.output(), HasSubstr(name + " step 1: 10 20 30 40"));
    EXPECT_THAT(job.output(), HasSubstr(name + " step 3: 30 60 90 120"));
  }
}

TEST_F(FakeSlice, RunsOneRankAlone) {
  RankProcess rank({SLICE_RANK, FAKE_SLICE, "2"}, {});
  EXPECT_EQ(rank.wait(10s), 0) << rank.output();
  EXPECT_THAT(rank.output(), HasSubstr("rank 0 step 2: 2"));
}

TEST_F(FakeSlice, EndsAllRanksWhenOneIsKilledAndLeavesNothing) {
  const std::set<std::string> before = shared_memory();
  const std::string list = addresses(3);
  std::vector<RankProcess> ranks;
  for (int r = 0; r < 3; ++r) ranks.push_back(start(r, list, 1000000));
  ASSERT_TRUE(ranks[1].read_until("step 5:", 10s)) << ranks[1].output();
  ranks[1].kill();
  EXPECT_EQ(ranks[1].wait(10s), 128 + 9);
  for (int r : {0, 2}) {
    EXPECT_EQ(ranks[static_cast<size_t>(r)].wait(10s), 1);
    EXPECT_THAT(ranks[static_cast<size_t>(r)].output(), HasSubstr("fake slice: rank 1 left the job: call "));
  }
  for (const std::string& name : shared_memory()) EXPECT_TRUE(before.contains(name)) << name;
}

TEST_F(FakeSlice, NamesTheRankThatNeverCame) {
  const std::string list = addresses(3);
  const Variables soon = {{"TPRUN_FAKE_SLICE_TIMEOUT", "1"}};
  RankProcess first = start(0, list, 1, soon), second = start(1, list, 1, soon);
  EXPECT_EQ(first.wait(10s), 1);
  EXPECT_EQ(second.wait(10s), 1);
  EXPECT_THAT(first.output(),
              HasSubstr("error: PJRT_Client_Create failed: code 4 (DEADLINE_EXCEEDED): fake slice: rank 2 did not "
                        "join the slice within 1 s"));
}

TEST_F(FakeSlice, RefusesMemoryBeyondTheLimit) {
  RankProcess rank = start(0, addresses(1), 1, {{"TPRUN_FAKE_SLICE_MEMORY", "1000"}}, "1001");
  EXPECT_EQ(rank.wait(10s), 1);
  EXPECT_THAT(
      rank.output(),
      HasSubstr("error: PJRT_Client_BufferFromHostBuffer failed: code 8 (RESOURCE_EXHAUSTED): fake slice: out of memory: "
                "1001 bytes asked for, 0 of 1000 in use"));
}

TEST_F(FakeSlice, CountsConsumedMemoryAsFree) {
  RankProcess rank = start(0, addresses(1), 50, {{"TPRUN_FAKE_SLICE_MEMORY", "1000"}}, "900");
  EXPECT_EQ(rank.wait(10s), 0) << rank.output();
}

TEST_F(FakeSlice, FailsTheCallThatItIsToldTo) {
  const std::string list = addresses(2);
  const Variables third = {{"TPRUN_FAKE_SLICE_FAIL_CALL", "3"}, {"TPRUN_FAKE_SLICE_FAIL_RANK", "1"}};
  RankProcess first = start(0, list, 5, third), second = start(1, list, 5, third);
  EXPECT_EQ(second.wait(10s), 1);
  EXPECT_THAT(second.output(),
              HasSubstr("rank 1 step 2: 6 12\nerror: PJRT_LoadedExecutable_Execute failed: code 13 (INTERNAL): "
                        "fake slice: execution 3 on rank 1 fails because TPRUN_FAKE_SLICE_FAIL_CALL says so"));
  EXPECT_EQ(first.wait(10s), 1);
  EXPECT_THAT(first.output(), HasSubstr("fake slice: rank 1 left the job: call 3 of the program over ranks 0,1"));
}

TEST_F(FakeSlice, RefusesAnInnerPluginThatIsNone) {
  RankProcess rank = start(0, addresses(1), 1, {{"TPRUN_FAKE_SLICE_PLUGIN", "/nowhere/plugin.so"}});
  EXPECT_EQ(rank.wait(10s), 1);
  EXPECT_THAT(rank.output(), HasSubstr("fake slice: /nowhere/plugin.so: no such file"));
}

}  // namespace
}  // namespace tp
