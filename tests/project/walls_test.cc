#include "tests/project/walls.h"

#include <gmock/gmock.h>

namespace tp {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A small project with a CMake list for each library, to which a test adds its breach.
SourceTree small_project() {
  return {{"runtime/text.cmake", "tp_library(tp_text SOURCES tokenizer.cc\n  LINK tp_sharding)"},
          {"runtime/model.cmake", "tp_library(tp_model SOURCES decoder.cc)\ntp_library(tp_eager SOURCES ops_eager.cc)"},
          {"runtime/tokenizer.h", ""},
          {"runtime/tokenizer.cc", "#include \"runtime/tokenizer.h\"\n"},
          {"runtime/decoder.cc", "#include <vector>\n"},
          {"runtime/ops_eager.h", "#include <ATen/ATen.h>\n"},
          {"runtime/ops_eager.cc", "#include \"runtime/ops_eager.h\"\n"}};
}

TEST(Walls, HoldInThisProject) {
  EXPECT_THAT(broken_walls(read_source_tree(TPRUN_SOURCE_DIR)), IsEmpty());
}

TEST(Walls, AllowWhatTheRoomsMayKnow) {
  SourceTree tree = small_project();
  tree["runtime/collectives_mpi.cc"] = "#include <mpi.h>\n";
  tree["runtime/tprun_rank.cc"] = "#include <mpi.h>\n#include <ATen/ATen.h>\nint x;\nint main(int argc, char** argv) {}\n";
  tree["launcher/options.cc"] = "#include <boost/program_options.hpp>\nchar* home() { return std::getenv(\"HOME\"); }\n";
  tree["launcher/tokenize.cc"] = "#include \"runtime/tokenizer.h\"\n";
  EXPECT_THAT(broken_walls(tree), IsEmpty());
}

TEST(Walls, SeeThroughHeaders) {
  SourceTree tree = small_project();
  tree["runtime/tokenizer.h"] = "#include \"runtime/ops_eager.h\"\n";
  tree["sharding/plan.cc"] = "#include \"sharding/plan.h\"\n";
  tree["sharding/plan.h"] = "# include <mpi.h>\n";
  EXPECT_THAT(broken_walls(tree), ElementsAre("runtime/tokenizer.cc: includes <ATen/ATen.h>, which tp_text must not know",
                                              "runtime/tokenizer.h: includes <ATen/ATen.h>, which tp_text must not know",
                                              "sharding/plan.cc: includes <mpi.h>, which sharding must not know",
                                              "sharding/plan.h: includes <mpi.h>, which sharding must not know",
                                              "sharding/plan.h: <mpi.h> is for runtime/collectives_mpi* and mains"));
}

TEST(Walls, KeepTheLauncherToTheTextLibrary) {
  SourceTree tree = small_project();
  tree["launcher/main.cc"] = "#include \"runtime/decoder.h\"\n";
  EXPECT_THAT(broken_walls(tree), ElementsAre("launcher/main.cc: includes <runtime/decoder.h>, which launcher must not know"));
}

TEST(Walls, KeepArrowsOneWay) {
  SourceTree tree = small_project();
  tree["sharding/slice.cc"] = "#include \"runtime/tokenizer.h\"\n";
  tree["runtime/decoder.cc"] = "#include \"launcher/options.h\"\n";
  EXPECT_THAT(broken_walls(tree),
              ElementsAre("runtime/decoder.cc: includes <launcher/options.h>, which runtime must not know",
                          "sharding/slice.cc: includes <runtime/tokenizer.h>, which sharding must not know"));
}

TEST(Walls, KeepOptionsAndTheEnvironmentTogether) {
  SourceTree tree = small_project();
  tree["launcher/supervisor.cc"] = "#include <boost/program_options/cmdline.hpp>\nauto x = getenv(\"PATH\");\n";
  EXPECT_THAT(broken_walls(tree), ElementsAre("launcher/supervisor.cc: Boost.Program_options is for option files",
                                              "launcher/supervisor.cc: getenv is for option files"));
}

}  // namespace
}  // namespace tp
