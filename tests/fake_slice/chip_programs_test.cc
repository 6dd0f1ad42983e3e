// How many programs a job on chips compiles, and what it keeps of them on disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/fake_slice/chip_job.h"

namespace tp {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

class ChipPrograms : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string(CPU_PLUGIN).empty()) GTEST_SKIP() << "lammps-jax-pjrt-cpu is not installed in the project's venv";
  }

  // `count` prompts of lengths from 1 to `longest`, evenly apart.
  void write_prompts(int count, int longest) {
    std::ofstream file(work_ / "prompts.jsonl");
    for (int i = 0; i < count; ++i) {
      std::vector<int> ids;
      for (int k = 0; k < (count == 1 ? longest : 1 + i * (longest - 1) / (count - 1)); ++k) ids.push_back(3 + (7 * k + i) % 90);
      file << nlohmann::json{{"ids", ids}}.dump() << "\n";
    }
  }

  // Runs the prompts on two chips; gives the text of the output file.
  std::string run(const std::vector<std::string>& more) {
    std::vector<std::string> words{"generate", "--model",  TPRUN_SOURCE_DIR "/tests/golden/models/tiny_qwen3_vocab101",
                                   "--input",  work_ / "prompts.jsonl", "--max-new-tokens", "3", "--ignore-eos",
                                   "--format", "json", "--output", work_ / "out", "--stats", work_ / "stats"};
    words.insert(words.end(), more.begin(), more.end());
    RankProcess job = tprun_on_chips(2, words);
    EXPECT_EQ(job.wait(110s), 0) << job.output();
    said_ = job.output();
    return file_text(work_ / "out");
  }

  // Programs compiled, taken from the cache: by every rank alike.
  std::pair<int, int> counts() {
    const nlohmann::json ranks = json_file(work_ / "stats")["ranks"];
    EXPECT_EQ(ranks.size(), 2U);
    EXPECT_EQ(ranks[0]["programs_compiled"], ranks[1]["programs_compiled"]);
    EXPECT_EQ(ranks[0]["cache_hits"], ranks[1]["cache_hits"]);
    return {ranks[0]["programs_compiled"], ranks[0]["cache_hits"]};
  }

  WorkDir work_;
  std::string said_;
};

// Prompts of 1 to 200 tokens: the buckets 16, 32, 64, 128 and the cache's own 203, and one program for all decoding.
TEST_F(ChipPrograms, AreOneABucketAndOneToDecode) {
  write_prompts(20, 200);
  const std::string first = run({"--compile-cache", work_ / "cache"});
  EXPECT_EQ(counts(), std::make_pair(6, 0));
  const std::string second = run({"--compile-cache", work_ / "cache"});
  EXPECT_EQ(counts(), std::make_pair(0, 6));
  EXPECT_EQ(first, second);
  EXPECT_EQ(std::count(first.begin(), first.end(), '\n'), 20);
}

TEST_F(ChipPrograms, AreCompiledAgainWhereTheCacheIsNoGood) {
  write_prompts(1, 5);
  const std::string right = run({"--compile-cache", work_ / "cache"});
  EXPECT_EQ(counts(), std::make_pair(2, 0));
  EXPECT_THAT(said_, Not(HasSubstr("--compile-cache")));
  for (const auto& entry : std::filesystem::directory_iterator(work_ / "cache"))
    std::filesystem::resize_file(entry.path(), std::filesystem::file_size(entry.path()) / 2);
  EXPECT_EQ(run({"--compile-cache", work_ / "cache"}), right);
  EXPECT_EQ(counts(), std::make_pair(2, 0));
  EXPECT_THAT(said_, HasSubstr("is not used: it is damaged or another program's"));
  // Written anew, it is good again.
  EXPECT_EQ(run({"--compile-cache", work_ / "cache"}), right);
  EXPECT_EQ(counts(), std::make_pair(0, 2));
}

TEST_F(ChipPrograms, AreCompiledWhereTheCacheCannotBeWritten) {
  write_prompts(1, 5);
  std::ofstream(work_ / "file") << "no directory\n";
  const std::string right = run({});
  EXPECT_EQ(run({"--compile-cache", work_ / "file/cache"}), right);
  EXPECT_EQ(counts(), std::make_pair(2, 0));
  EXPECT_THAT(said_, HasSubstr("--compile-cache: cannot write " + (work_ / "file/cache/")));
  EXPECT_THAT(said_, HasSubstr(": programs will be compiled again next time"));
}

}  // namespace
}  // namespace tp
