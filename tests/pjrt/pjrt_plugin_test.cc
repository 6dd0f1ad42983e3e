#include "runtime/pjrt_plugin.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "sharding/error.h"

namespace tp {
namespace {

std::string refusal(const std::string& path) {
  try {
    PjrtPlugin::load(path);
  } catch (const Error& error) {
    return error.text();
  }
  return "loaded";
}

constexpr const char* kFix =
    "\n  fix: give --pjrt-plugin the library of a PJRT plugin, for TPU chips libtpu.so (`pip install libtpu`)";

TEST(PjrtPlugin, RefusesAMissingFile) {
  EXPECT_EQ(refusal("/nowhere/p.so"), std::string("/nowhere/p.so: no such file") + kFix);
}

TEST(PjrtPlugin, RefusesADirectory) {
  EXPECT_EQ(refusal("/usr"), std::string("/usr: is a directory, not a PJRT plugin") + kFix);
}

TEST(PjrtPlugin, RefusesAFileThatIsNoLibrary) {
  const std::string path = testing::TempDir() + "/plugin_that_is_text.so";
  std::ofstream(path) << "not a library, but long enough to have an ELF header in it: " << std::string(100, 'x');
  EXPECT_EQ(refusal(path), path + ": cannot be loaded: " + path + ": invalid ELF header" + kFix);
}

TEST(PjrtPlugin, RefusesALibraryWithoutTheEntryPoint) {
  EXPECT_EQ(refusal(NO_ENTRY_PLUGIN), std::string(NO_ENTRY_PLUGIN) + ": is not a PJRT plugin: it has no GetPjrtApi" + kFix);
}

TEST(PjrtPlugin, RefusesAnOldApi) {
  EXPECT_EQ(refusal(TOO_OLD_PLUGIN), std::string(TOO_OLD_PLUGIN) +
                                         ": too old: PJRT C API 0.40, tprun needs 0.81 or newer\n"
                                         "  fix: install a newer plugin, for TPU chips `pip install --upgrade libtpu`");
}

TEST(PjrtPlugin, RefusesAnotherMajorVersion) {
  EXPECT_EQ(refusal(OTHER_MAJOR_PLUGIN), std::string(OTHER_MAJOR_PLUGIN) +
                                             ": PJRT C API 1.0, tprun speaks major version 0\n"
                                             "  fix: install a plugin that fits, for TPU chips `pip install libtpu`");
}

TEST(PjrtPlugin, LoadsTheOldestApi) {
  if (std::string(CPU_PLUGIN_OLD).empty()) GTEST_SKIP() << "xla-cpu-pjrt is not installed in the project's venv";
  EXPECT_EQ(PjrtPlugin::load(CPU_PLUGIN_OLD)->version(), "0.81");
}

}  // namespace
}  // namespace tp
