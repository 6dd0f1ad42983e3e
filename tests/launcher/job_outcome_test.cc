#include "launcher/job_outcome.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cerrno>

namespace tp {
namespace {

JobFacts two_ranks(std::optional<RankExit> first, std::optional<RankExit> second) {
  JobFacts facts;
  facts.started = true;
  facts.ranks = {{0, "a", first, {}}, {1, "b", second, {"last words"}}};
  return facts;
}

TEST(JobOutcome, IsTheFirstFailingRanks) {
  const JobResult result = judge_job(two_ranks(RankExit{3, 0, false, 20}, RankExit{7, 0, false, 10}));
  EXPECT_EQ(result.code, 7);
  EXPECT_EQ(result.error, "rank 1 on b exited with code 7; its last lines:\n  last words");
}

TEST(JobOutcome, PassesOverRanksThatWereTold) {
  const JobResult result = judge_job(two_ranks(RankExit{143, SIGTERM, true, 5}, RankExit{139, SIGSEGV, false, 10}));
  EXPECT_EQ(result.code, 139);
  EXPECT_EQ(result.error, "rank 1 on b was ended by SIGSEGV; its last lines:\n  last words");
}

TEST(JobOutcome, IsTheSignalThatTprunWasSent) {
  JobFacts facts = two_ranks(RankExit{1, 0, true, 1}, RankExit{0, 0, true, 2});
  facts.stop_signal = SIGINT;
  EXPECT_EQ(judge_job(facts).code, 130);
  EXPECT_TRUE(judge_job(facts).stopped);
  EXPECT_EQ(judge_job(facts).error, "stopped by SIGINT");
}

TEST(JobOutcome, TellsWhyStandardOutputEndedUnlessNobodyReadsIt) {
  JobFacts facts = two_ranks(RankExit{0, 0, true, 1}, RankExit{0, 0, true, 2});
  facts.output_error = EPIPE;
  EXPECT_EQ(judge_job(facts).code, 141);
  EXPECT_EQ(judge_job(facts).error, "");
  facts.output_error = ENOSPC;
  EXPECT_EQ(judge_job(facts).code, 1);
  EXPECT_TRUE(judge_job(facts).stopped);
  EXPECT_EQ(judge_job(facts).error, "standard output: No space left on device");
}

TEST(JobOutcome, IsTheSignalThatEndedMpirunNotItsBareOne) {
  JobFacts facts = two_ranks(RankExit{1, 0, false, 1}, RankExit{1, 0, false, 2});
  facts.mpirun_signal = SIGKILL;
  EXPECT_EQ(judge_job(facts).code, 137);
  EXPECT_EQ(judge_job(facts).error, "mpirun was ended by SIGKILL");
}

TEST(JobOutcome, NamesRanksThatNeverStarted) {
  JobFacts facts = two_ranks(std::nullopt, std::nullopt);
  facts.started = false;
  facts.timed_out = true;
  facts.timeout_s = 30;
  facts.ranks[1].host.clear();
  EXPECT_EQ(judge_job(facts).error, "--timeout: after 30 s these ranks had not started: 1");
  facts.control = "tcp:10.0.0.5,10.1.0.5:20113";
  facts.mpirun_output = "ssh: no route\n";
  EXPECT_EQ(
      judge_job(facts).error,
      "--timeout: after 30 s these ranks had not started: 1; they were to report to tcp:10.0.0.5,10.1.0.5:20113; mpirun said:\n"
      "ssh: no route");
}

TEST(JobOutcome, TellsThePartOfASecond) {
  JobFacts facts = two_ranks(std::nullopt, std::nullopt);
  facts.started = false;
  facts.timed_out = true;
  facts.timeout_s = 0.25;
  facts.ranks[0].host.clear();
  EXPECT_EQ(judge_job(facts).error, "--timeout: after 0.25 s these ranks had not started: 0");
  facts.timeout_s = 1e6;
  EXPECT_EQ(judge_job(facts).error, "--timeout: after 1000000 s these ranks had not started: 0");
}

TEST(JobOutcome, IsARefusalWhenMpirunCannotStart) {
  JobFacts facts = two_ranks(std::nullopt, std::nullopt);
  facts.started = false;
  facts.mpirun_code = 1;
  facts.mpirun_output = "no such host\n\n";
  EXPECT_EQ(judge_job(facts).code, 2);
  EXPECT_EQ(judge_job(facts).error, "mpirun could not start the ranks; mpirun said:\nno such host");
}

TEST(JobOutcome, IsTheSignalThatEndedARankBeforeItsProgram) {
  JobFacts facts = two_ranks(std::nullopt, std::nullopt);
  facts.started = false;
  facts.mpirun_code = 128 + SIGINT;
  facts.mpirun_output = "rank 0 exited on signal 2\n";
  EXPECT_EQ(judge_job(facts).code, 130);
  EXPECT_EQ(judge_job(facts).error,
            "a rank was ended by SIGINT before its program was started; mpirun said:\nrank 0 exited on signal 2");
  facts.mpirun_code = 213;  // a code of its own
  EXPECT_EQ(judge_job(facts).code, 2);
}

TEST(JobOutcome, IsZeroWhenAllIsWell) {
  const JobResult result = judge_job(two_ranks(RankExit{}, RankExit{}));
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.error, "");
}

}  // namespace
}  // namespace tp
