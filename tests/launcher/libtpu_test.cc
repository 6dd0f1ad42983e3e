#include "launcher/libtpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "sharding/error.h"

namespace tp {
namespace {

namespace fs = std::filesystem;

class Libtpu : public testing::Test {
 protected:
  void SetUp() override {
    unsetenv("TPU_LIBRARY_PATH");
    unsetenv("VIRTUAL_ENV");
  }
  void TearDown() override { SetUp(); }
};

TEST_F(Libtpu, IsTheOneThatTheEnvironmentNames) {
  const std::string file = testing::TempDir() + "named_libtpu.so";
  std::ofstream(file) << "x";
  setenv("TPU_LIBRARY_PATH", file.c_str(), 1);
  EXPECT_EQ(find_libtpu(), file);
  EXPECT_EQ(describe_libtpu(), file);
}

TEST_F(Libtpu, OfTheActiveVenvComesFirst) {
  const fs::path venv = testing::TempDir() + "venv_with_libtpu";
  const fs::path file = venv / "lib/python3.12/site-packages/libtpu/libtpu.so";
  fs::create_directories(file.parent_path());
  std::ofstream(file) << "x";
  setenv("VIRTUAL_ENV", venv.c_str(), 1);
  EXPECT_EQ(find_libtpu(), file);
  ASSERT_GE(libtpu_places().size(), 4U);
  EXPECT_EQ(libtpu_places()[1], TPRUN_SOURCE_DIR "/.venv/lib/python3*/site-packages/libtpu/libtpu.so");
}

TEST_F(Libtpu, ThatIsNamedAndMissingIsAnError) {
  setenv("TPU_LIBRARY_PATH", "/nowhere/libtpu.so", 1);
  EXPECT_EQ(describe_libtpu(), "TPU_LIBRARY_PATH: no such file: /nowhere/libtpu.so");
  try {
    find_libtpu();
    FAIL() << "found";
  } catch (const Error& error) {
    EXPECT_EQ(error.text(),
              "TPU_LIBRARY_PATH: no such file: /nowhere/libtpu.so\n  fix: pip install libtpu; or give its file: --pjrt-plugin FILE");
  }
}

}  // namespace
}  // namespace tp
