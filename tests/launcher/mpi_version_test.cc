#include "launcher/mpi_version.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "sharding/error.h"

namespace tp {
namespace {

TEST(MpiVersion, IsReadFromBothForms) {
  const auto old_form = parse_mpi_version("mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/\n");
  ASSERT_TRUE(old_form);
  EXPECT_EQ(old_form->major, 4);
  EXPECT_EQ(old_form->minor, 1);
  EXPECT_EQ(old_form->patch, 4);
  const auto new_form = parse_mpi_version("mpirun (Open MPI) 5.0.6rc2\n");
  ASSERT_TRUE(new_form);
  EXPECT_EQ(new_form->major, 5);
  EXPECT_FALSE(parse_mpi_version("HYDRA build details:\n    Version: 4.1\n"));
}

// A directory with an `mpirun` that is this script, first in PATH.
struct MpirunOfScript {
  explicit MpirunOfScript(const std::string& script) : path(getenv("PATH")) {
    const std::filesystem::path dir =
        std::filesystem::path(testing::TempDir()) / ("mpirun_of_script." + std::to_string(getpid()));
    std::filesystem::create_directories(dir);
    std::ofstream(dir / "mpirun") << "#!/bin/sh\n" << script;
    std::filesystem::permissions(dir / "mpirun", std::filesystem::perms::owner_all);
    setenv("PATH", (dir.string() + ":" + path).c_str(), 1);
  }
  ~MpirunOfScript() { setenv("PATH", path.c_str(), 1); }
  std::string path;
};

std::string message_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.text();
  }
  return "";
}

constexpr const char* kInstallMend = "\n  fix: install Open MPI 4.1 or newer (Debian: apt-get install openmpi-bin)";

TEST(MpiVersion, IsWhatMpirunAnswers) {
  const MpirunOfScript mpirun("echo \"mpirun (Open MPI) 4.1.$ASKED\"\n");
  const MpirunAnswer answer = ask_mpirun({{"ASKED", "6"}});
  EXPECT_EQ(answer.text, "mpirun (Open MPI) 4.1.6\n");
  EXPECT_EQ(require_mpi_version(answer).patch, 6);
}

TEST(MpiVersion, OfMpirunThatIsKilledIsTheSignal) {
  const MpirunOfScript mpirun("kill -TERM $$\n");
  const MpirunAnswer answer = ask_mpirun({});
  EXPECT_EQ(answer.signal, SIGTERM);
  EXPECT_EQ(message_of([&] { require_mpi_version(answer); }),
            std::string("mpirun: was ended by signal 15 when asked for its version") + kInstallMend);
}

TEST(MpiVersion, IsNotWaitedForForEver) {
  const MpirunOfScript mpirun("exec sleep 300\n");
  EXPECT_EQ(message_of([] { ask_mpirun({}, 1); }),
            std::string("mpirun: `mpirun --version` did not answer within 1 s") + kInstallMend);
}

TEST(MpiVersion, RefusesOthersAndOldOnes) {
  EXPECT_EQ(message_of([] {
              require_mpi_version({"HYDRA build details:\n    Version: 4.1\n", 0});
            }),
            std::string("mpirun: is not Open MPI's: HYDRA build details:") + kInstallMend);
  EXPECT_EQ(message_of([] {
              require_mpi_version({"mpirun (Open MPI) 4.0.5\n", 0});
            }),
            std::string("mpirun: Open MPI 4.0 is too old") + kInstallMend);
}

}  // namespace
}  // namespace tp
