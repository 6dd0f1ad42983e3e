// Compiled programs on disk: what is not sound is told and never run.
#include "runtime/program_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "runtime/program_store.h"

namespace tp {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;
namespace fs = std::filesystem;

constexpr const char* kText = R"(
module @increment {
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %one = stablehlo.constant dense<1.0> : tensor<4xf32>
    %y = stablehlo.add %x, %one : tensor<4xf32>
    return %y : tensor<4xf32>
  }
})";

class ProgramCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    dir_ = fs::path(testing::TempDir()) / (std::string("program_cache_") + test->name());
    fs::remove_all(dir_);
  }

  ProgramCache cache(const fs::path& dir) {
    return {dir, [this](const std::string& text) { warnings_.push_back(text); }};
  }
  // The files of the cache.
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(dir_)) found.push_back(entry.path());
    return found;
  }

  fs::path dir_;
  std::vector<std::string> warnings_;
};

TEST_F(ProgramCacheTest, GivesBackWhatItWasGiven) {
  const std::string bytes("with \0 and \n in it", 18);
  cache(dir_).store("key", bytes);
  EXPECT_EQ(cache(dir_).find("key"), bytes);
  EXPECT_EQ(cache(dir_).find("other"), std::nullopt);
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(ProgramCacheTest, WithoutADirectoryKeepsNothing) {
  cache("").store("key", "bytes");
  EXPECT_EQ(cache("").find("key"), std::nullopt);
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(ProgramCacheTest, WarnsOfADamagedFile) {
  cache(dir_).store("key", "some bytes");
  const fs::path file = files().at(0);
  fs::resize_file(file, fs::file_size(file) - 1);
  EXPECT_EQ(cache(dir_).find("key"), std::nullopt);
  EXPECT_THAT(warnings_,
              ElementsAre("--compile-cache: " + file.string() + " is not used: it is damaged or another program's"));
}

TEST_F(ProgramCacheTest, WarnsOfAnotherProgramsFile) {
  cache(dir_).store("first", "bytes of the first");
  const fs::path first = files().at(0);
  cache(dir_).store("second", "bytes of the second");
  const fs::path second = files().at(0) == first ? files().at(1) : files().at(0);
  fs::copy_file(first, second, fs::copy_options::overwrite_existing);
  EXPECT_EQ(cache(dir_).find("second"), std::nullopt);
  EXPECT_THAT(warnings_,
              ElementsAre("--compile-cache: " + second.string() + " is not used: it is damaged or another program's"));
}

TEST_F(ProgramCacheTest, WarnsOnceThatItCannotWrite) {
  std::ofstream(dir_) << "a file where the directory should be";
  ProgramCache unwritable = cache(dir_ / "cache");
  unwritable.store("key", "bytes");
  unwritable.store("other", "bytes");
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_THAT(warnings_[0], StartsWith("--compile-cache: cannot write " + (dir_ / "cache").string() + "/"));
  EXPECT_EQ(unwritable.find("key"), std::nullopt);
}

class ProgramStoreTest : public ProgramCacheTest {
 protected:
  void SetUp() override {
    if (std::string(CPU_PLUGIN).empty()) GTEST_SKIP() << "lammps-jax-pjrt-cpu is not installed in the project's venv";
    ProgramCacheTest::SetUp();
    client_ = PjrtClient::create(PjrtPlugin::load(CPU_PLUGIN), {.create = {{"cpu_device_count", 1}}});
  }
  ProgramStore store() { return {client_, cache(dir_), ""}; }

  std::shared_ptr<const PjrtClient> client_;
  HloProgram program_{.name = "increment", .text = kText};
};

TEST_F(ProgramStoreTest, CompilesOnceAndLoadsAfterwards) {
  ProgramStore first = store();
  first.executable(program_);
  first.executable(program_);
  EXPECT_EQ(first.compiled(), 1);
  ProgramStore second = store();
  second.executable(program_);
  EXPECT_EQ(second.compiled(), 0);
  EXPECT_EQ(second.cache_hits(), 1);
  EXPECT_THAT(warnings_, IsEmpty());
}

// A sound file, but bytes that the plugin does not know: as after an update that kept its version.
TEST_F(ProgramStoreTest, CompilesWhatThePluginDoesNotLoad) {
  store().executable(program_);
  const fs::path file = files().at(0);
  const std::string key = client_->platform_name() + "\n" + client_->platform_version() + "\n" + client_->plugin().version() +
                          "\n1\n" + program_.text;
  cache(dir_).store(key, "no executable");
  ASSERT_EQ(files().size(), 1U);
  ProgramStore again = store();
  const float values[4] = {1, 2, 3, 4};
  const PjrtBuffer input = client_->to_device(values, DType::kF32, {4});
  float results[4];
  again.executable(program_).execute({{&input}})[0][0].to_host(results, sizeof(results));
  EXPECT_EQ(results[3], 5);
  EXPECT_EQ(again.compiled(), 1);
  EXPECT_EQ(again.cache_hits(), 0);
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_THAT(warnings_[0], StartsWith("--compile-cache: " + file.string() +
                                       " is not used: PJRT_Executable_DeserializeAndLoad failed: code "));
}

}  // namespace
}  // namespace tp
