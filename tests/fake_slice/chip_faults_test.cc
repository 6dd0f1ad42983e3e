// Chips that fail under a job of tprun.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <sstream>

#include "tests/fake_slice/chip_job.h"

namespace tp {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr const char* kModel = TPRUN_SOURCE_DIR "/examples/tiny";

bool has_variable(const std::string& environment, const std::string& assignment) {
  return (std::string(1, '\0') + environment).find('\0' + assignment + '\0') != std::string::npos;
}

// The worker of this rank in the job that carries the mark; 0 when there is none.
pid_t worker(const std::string& mark, int rank) {
  std::error_code ignored;
  for (const auto& process : fs::directory_iterator("/proc", ignored)) {
    const pid_t pid = std::atoi(process.path().filename().c_str());
    if (pid <= 0 || file_text(process.path() / "comm") != "tprun-rank\n") continue;
    const std::string environment = file_text(process.path() / "environ");
    if (has_variable(environment, "CHIP_FAULT_MARK=" + mark) && has_variable(environment, "RANK=" + std::to_string(rank)))
      return pid;
  }
  return 0;
}

// Files in /dev/shm that the process has mapped.
std::vector<std::string> shared_files(pid_t pid) {
  std::istringstream maps(file_text("/proc/" + std::to_string(pid) + "/maps"));
  std::vector<std::string> files;
  for (std::string line; std::getline(maps, line);) {
    if (const size_t at = line.find("/dev/shm/"); at != std::string::npos) files.push_back(line.substr(at));
  }
  return files;
}

std::string value_of(pid_t pid, const std::string& name) {
  const std::string environment = '\0' + file_text("/proc/" + std::to_string(pid) + "/environ");
  const size_t at = environment.find('\0' + name + "=");
  return at == std::string::npos ? "" : std::string(environment.c_str() + at + name.size() + 2);
}

class ChipFaults : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string(CPU_PLUGIN).empty()) GTEST_SKIP() << "lammps-jax-pjrt-cpu is not installed in the project's venv";
  }
};

// The others stand in a step's collective when one of them dies.
TEST_F(ChipFaults, EndTheJobWithinTenSecondsAndLeaveNothing) {
  const std::string mark = std::to_string(getpid());
  RankProcess job = tprun_on_chips(
      4, {"generate", "--model", kModel, "--prompt", "A chip is", "--max-new-tokens", "2000", "--ignore-eos", "--threads", "1"},
      {{"CHIP_FAULT_MARK", mark}});
  ASSERT_TRUE(job.read_until("ovens", 100s)) << job.output();
  const pid_t victim = worker(mark, 1);
  ASSERT_GT(victim, 0);
  const std::vector<std::string> files = shared_files(victim);
  const std::string runtime_dir = value_of(victim, "TPRUN_RUNTIME_DIR");
  EXPECT_TRUE(fs::exists(runtime_dir)) << runtime_dir;
  ::kill(victim, SIGKILL);
  EXPECT_EQ(job.wait(10s), 128 + SIGKILL) << job.output();
  EXPECT_THAT(job.output(), HasSubstr("was ended by SIGKILL"));
  for (int rank : {0, 1, 2, 3}) EXPECT_EQ(worker(mark, rank), 0) << "rank " << rank;
  EXPECT_FALSE(fs::exists(runtime_dir));
  for (const std::string& file : files) EXPECT_FALSE(fs::exists(file)) << file;
}

TEST_F(ChipFaults, ShowThePluginsOwnWords) {
  RankProcess job =
      tprun_on_chips(2, {"generate", "--model", kModel, "--prompt", "A chip is", "--max-new-tokens", "20"},
                     {{"TPRUN_FAKE_SLICE_FAIL_CALL", "3"}, {"TPRUN_FAKE_SLICE_FAIL_RANK", "1"}});
  EXPECT_EQ(job.wait(110s), 1) << job.output();
  EXPECT_THAT(job.output(), HasSubstr("PJRT_LoadedExecutable_Execute failed: code 13 (INTERNAL): fake slice: execution 3 on "
                                      "rank 1 fails because TPRUN_FAKE_SLICE_FAIL_CALL says so"));
}

TEST_F(ChipFaults, OfMemoryNameTheBytes) {
  RankProcess job = tprun_on_chips(2, {"generate", "--model", kModel, "--prompt", "A chip is", "--max-new-tokens", "20"},
                                   {{"TPRUN_FAKE_SLICE_MEMORY", "100000"}});
  EXPECT_EQ(job.wait(110s), 1) << job.output();
  EXPECT_THAT(job.output(), HasSubstr("code 8 (RESOURCE_EXHAUSTED): fake slice: out of memory: "));
  EXPECT_THAT(job.output(), HasSubstr(" of 100000 in use"));
}

}  // namespace
}  // namespace tp
