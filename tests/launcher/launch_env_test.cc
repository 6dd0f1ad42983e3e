#include "launcher/launch_env.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/env_report.h"
#include "sharding/error.h"

namespace tp {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

LaunchEnvRequest tpu_request(int nproc, Environment preset = {}) {
  LaunchEnvRequest request;
  request.nproc = nproc;
  request.tpu = true;
  request.preset = std::move(preset);
  for (int i = 0; i < nproc; ++i) request.chips.usable.push_back({"v4", "", "/dev/vfio/" + std::to_string(i), {}, {}, ""});
  return request;
}

std::string refusal(const LaunchEnvRequest& request) {
  try {
    make_launch_env(request);
  } catch (const Error& error) {
    return error.text();
  }
  return "accepted";
}

TEST(LaunchEnv, IsTorchrunsOnCpu) {
  LaunchEnvRequest request;
  request.nproc = 2;
  const LaunchEnv env = make_launch_env(request);
  EXPECT_EQ(env.common.at("WORLD_SIZE"), "2");
  EXPECT_EQ(env.common.at("LOCAL_WORLD_SIZE"), "2");
  EXPECT_EQ(env.common.at("GROUP_RANK"), "0");
  EXPECT_EQ(env.common.at("MASTER_ADDR"), "127.0.0.1");
  EXPECT_EQ(env.common.size(), 5U);
  EXPECT_EQ(env.ranks[1], (Environment{{"RANK", "1"}, {"LOCAL_RANK", "1"}}));
}

TEST(LaunchEnv, RefusesAHandshakePortThatIsNone) {
  const char* name = "TORCH_TPU_INTERNAL_HANDSHAKE_PORT";
  EXPECT_EQ(refusal(tpu_request(2, {{name, "x"}})),
            std::string(name) + ": `x` is not a whole number\n  fix: unset it, or set it right");
  EXPECT_EQ(refusal(tpu_request(2, {{name, "70000"}})),
            std::string(name) + ": 70000 is not a port\n  fix: a number from 1 to 65535");
}

TEST(LaunchEnv, TellsInALineThatRanksGetAnotherPlaceThanTheOneThatIsSet) {
  LaunchEnvRequest request;
  request.nproc = 2;
  request.preset = {{"RANK", "0"}, {"LOCAL_RANK", "0"}, {"WORLD_SIZE", "8"}, {"LOCAL_WORLD_SIZE", "2"}, {"GROUP_RANK", "1"}};
  const LaunchEnv env = make_launch_env(request);
  EXPECT_EQ(env.common.at("WORLD_SIZE"), "2");
  EXPECT_THAT(env.notes,
              ::testing::ElementsAre("RANK=0, LOCAL_RANK=0, WORLD_SIZE=8, GROUP_RANK=1 of the environment is another "
                                     "job's; ranks get the values of this one, of 2 ranks"));
  request.preset = {{"WORLD_SIZE", "2"}, {"LOCAL_WORLD_SIZE", "2"}, {"GROUP_RANK", "0"}};
  EXPECT_THAT(make_launch_env(request).notes, ::testing::IsEmpty());
}

TEST(LaunchEnv, CountsTheRanksOfAllHosts) {
  LaunchEnvRequest request;
  request.nproc = 2;
  request.world_size = 5;
  EXPECT_EQ(make_launch_env(request).common.at("WORLD_SIZE"), "5");
}

TEST(LaunchEnv, RefusesAMasterThatIsNoHost) {
  LaunchEnvRequest request;
  for (const char* bad : {"a b", "-x", "a,b", "http://a", "a\n"}) {
    request.master_addr = bad;
    EXPECT_EQ(refusal(request),
              "--master-addr: `" + std::string(bad) + "` is not a host\n  fix: the name or address of the first host");
  }
  request.master_addr = "host0:29500";
  EXPECT_EQ(refusal(request), "--master-addr: `host0:29500` has a port\n  fix: the host alone; --master-port 29500");
  request.master_addr = "fe80::1";
  EXPECT_EQ(make_launch_env(request).common.at("MASTER_ADDR"), "fe80::1");
  request.master_addr = "";
  request.preset = {{"MASTER_ADDR", "a b"}};
  EXPECT_EQ(refusal(request), "MASTER_ADDR: `a b` is not a host\n  fix: the name or address of the first host");
}

TEST(LaunchEnv, TellsThatRanksHaveTheirOwn) {
  EXPECT_THAT(make_launch_env(tpu_request(2, {{"TPU_VISIBLE_CHIPS", "0"}})).notes,
              ::testing::ElementsAre(
                  "TPU_VISIBLE_CHIPS=0 is left over from another job (each rank of this one has its own): unset it"));
  EXPECT_THAT(make_launch_env(tpu_request(1, {{"TPU_VISIBLE_CHIPS", "0"}})).notes, ::testing::IsEmpty());
}

TEST(LaunchEnv, HasTorchTpusVariablesOnOneHost) {
  const LaunchEnv env = make_launch_env(tpu_request(4));
  EXPECT_EQ(env.common.at("TORCH_TPU_TOPOLOGY"), "2,2,1");
  EXPECT_THAT(env.common.at("TORCH_TPU_SLICEBUILDER_ADDRESSES"),
              MatchesRegex("localhost:[0-9]+,localhost:[0-9]+,localhost:[0-9]+,localhost:[0-9]+"));
  EXPECT_EQ(env.common.at("TORCH_TPU_XPROF_SESSION_ID").size(), 19U);
  const Environment direct = libtpu_environment(env, 1);
  EXPECT_EQ(direct.at("CLOUD_TPU_TASK_ID"), "1");
  EXPECT_EQ(direct.at("TPU_PROCESS_BOUNDS"), "2,2,1");
  EXPECT_THAT(env.common.at("TORCH_TPU_SLICEBUILDER_ADDRESSES"), HasSubstr(":" + direct.at("TPU_PROCESS_PORT")));
}

// The second of two hosts.
LaunchEnvRequest second_host(Environment preset = {}) {
  LaunchEnvRequest request = tpu_request(4, std::move(preset));
  request.place = {true, 2, 1, {"h0", "h1"}};
  return request;
}

TEST(LaunchEnv, IsTheSameOnEveryHost) {
  const LaunchEnv env = make_launch_env(second_host());
  EXPECT_EQ(env.common.at("NODE_RANK"), "1");
  EXPECT_EQ(env.common.at("NNODES"), "2");
  EXPECT_EQ(env.common.at("GROUP_RANK"), "1");
  EXPECT_EQ(env.common.at("WORLD_SIZE"), "8");
  EXPECT_EQ(env.common.at("MASTER_ADDR"), "h0");
  EXPECT_EQ(env.common.at("MASTER_PORT"), "29500");
  EXPECT_EQ(env.common.at("TORCH_TPU_SLICEBUILDER_ADDRESSES"),
            "h0:8070,h0:8071,h0:8072,h0:8073,h1:8070,h1:8071,h1:8072,h1:8073");
  EXPECT_EQ(env.common.at("TORCH_TPU_TOPOLOGY"), "2,2,2");
  EXPECT_EQ(env.ranks[0], (Environment{{"RANK", "4"}, {"LOCAL_RANK", "0"}}));
  EXPECT_EQ(libtpu_environment(env, 3).at("CLOUD_TPU_TASK_ID"), "7");
  EXPECT_EQ(libtpu_environment(env, 3).at("TPU_VISIBLE_CHIPS"), "3");
  LaunchEnvRequest first = second_host();
  first.place.node_rank = 0;
  const std::string session = env.common.at("TORCH_TPU_XPROF_SESSION_ID");
  // Its ports are held by `env` as well: two hosts have them each for itself.
  first.preset = {{"TORCH_TPU_SLICEBUILDER_ADDRESSES", env.common.at("TORCH_TPU_SLICEBUILDER_ADDRESSES")}};
  EXPECT_EQ(refusal(first),
            "TORCH_TPU_SLICEBUILDER_ADDRESSES: port 8070 is taken\n  fix: leave it out: tprun finds a free port");
  EXPECT_FALSE(session.empty());
}

TEST(LaunchEnv, TakesTheTopologyOfTheSlice) {
  EXPECT_EQ(make_launch_env(second_host({{"TPU_TOPOLOGY", "2x4"}})).common.at("TORCH_TPU_TOPOLOGY"), "2,4,1");
  EXPECT_EQ(refusal(second_host({{"TPU_TOPOLOGY", "4x4x4"}})),
            "TORCH_TPU_TOPOLOGY: `4,4,4` is not a topology of 8 ranks\n  fix: unset it, or set sizes whose product is 8");
}

TEST(LaunchEnv, NeedsTheNamesOfTheHosts) {
  LaunchEnvRequest request = second_host({{"MASTER_ADDR", "h0"}});
  request.place.hosts.clear();
  EXPECT_EQ(refusal(request), "TPU_WORKER_HOSTNAMES: is not set\n  fix: set it to the names of all hosts, with commas between");
  request.preset.clear();
  EXPECT_EQ(refusal(request), "--master-addr: is needed with several hosts\n  fix: the address of the first host");
}

TEST(LaunchEnv, LetsPresetsWinAndChecksThem) {
  const char* list = "TORCH_TPU_SLICEBUILDER_ADDRESSES";
  EXPECT_EQ(make_launch_env(tpu_request(2, {{list, "localhost:18071,localhost:18072"}})).common.at(list),
            "localhost:18071,localhost:18072");
  const std::string fix = "\n  fix: unset it, or set it to host:port of every rank";
  EXPECT_EQ(refusal(tpu_request(2, {{list, "localhost:18071"}})), std::string(list) + ": has 1 addresses for 2 ranks" + fix);
  EXPECT_EQ(refusal(tpu_request(2, {{list, "localhost:18071,localhost"}})),
            std::string(list) + ": `localhost` is not host:port" + fix);
  EXPECT_EQ(refusal(tpu_request(2, {{list, "localhost:18071,local host:18072"}})),
            std::string(list) + ": `local host:18072` is not host:port" + fix);
  EXPECT_EQ(refusal(tpu_request(2, {{list, "localhost:18071,localhost:18071"}})),
            std::string(list) + ": `localhost:18071` is there twice" + fix);
  EXPECT_EQ(refusal(tpu_request(2, {{"TORCH_TPU_TOPOLOGY", "2,2,1"}})),
            "TORCH_TPU_TOPOLOGY: `2,2,1` is not a topology of 2 ranks\n  fix: unset it, or set sizes whose product is 2");
}

TEST(LaunchEnv, TellsOfAnotherJobsLeftovers) {
  EXPECT_THAT(make_launch_env(tpu_request(2, {{"TPU_PROCESS_BOUNDS", "2,2,1"}})).notes,
              ::testing::ElementsAre("TPU_PROCESS_BOUNDS=2,2,1 is left over from another job (this one has 1,2,1): unset it"));
}

TEST(LaunchEnv, OfAPluginWithoutChipsIsALine) {
  LaunchEnvRequest request = tpu_request(3);
  request.chips = {};
  request.check_counts = false;
  request.pjrt_plugin = "/p.so";
  const LaunchEnv env = make_launch_env(request);
  EXPECT_EQ(env.common.at("TORCH_TPU_TOPOLOGY"), "1,3,1");
  EXPECT_EQ(env.common.at("TPU_LIBRARY_PATH"), "/p.so");
}

TEST(EnvReport, IsForShellsAndPrograms) {
  LaunchEnv env;
  env.common = {{"A", "x y"}};
  env.ranks = {{{"RANK", "0"}}, {{"RANK", "1"}}};
  EXPECT_EQ(env_assignments(env, std::nullopt), "export A='x y'\n");
  EXPECT_EQ(env_assignments(env, 1), "export A='x y'\nexport RANK=1\n");
  EXPECT_EQ(env_json(env, std::nullopt), "{\"env\":{\"A\":\"x y\"},\"ranks\":[{\"RANK\":\"0\"},{\"RANK\":\"1\"}]}\n");
  EXPECT_THROW(env_json(env, 2), Error);
}

TEST(PortLease, IsNeverGivenTwice) {
  std::set<int> ports;
  std::vector<PortLease> leases;
  for (int i = 0; i < 200; ++i) {
    leases.push_back(PortLease::any());
    EXPECT_TRUE(ports.insert(leases.back().port()).second);
  }
  EXPECT_THROW(PortLease::exactly(leases[0].port(), "MASTER_PORT"), Error);
}

}  // namespace
}  // namespace tp
