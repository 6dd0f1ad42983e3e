#include "runtime/pjrt_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sharding/error.h"

namespace tp {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kAllReduce = R"(
module @sum attributes {mhlo.num_replicas = 4 : i32} {
  func.func public @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<8xf32>) {
    %sum = "stablehlo.all_reduce"(%x) ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
    }) {replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<2xf32>) -> tensor<2xf32>
    %all = "stablehlo.all_gather"(%x) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} :
        (tensor<2xf32>) -> tensor<8xf32>
    return %sum, %all : tensor<2xf32>, tensor<8xf32>
  }
})";

// Adds 1 to a donated argument.
constexpr const char* kDonated = R"(
module @increment {
  func.func public @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<4xf32> {
    %one = stablehlo.constant dense<1.0> : tensor<4xf32>
    %y = stablehlo.add %x, %one : tensor<4xf32>
    return %y : tensor<4xf32>
  }
})";

class PjrtClientTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string(GetParam()).empty()) GTEST_SKIP() << "the CPU plugin is not installed in the project's venv";
  }
  static std::shared_ptr<const PjrtClient> client(int64_t devices = 1) {
    return PjrtClient::create(PjrtPlugin::load(GetParam()), {.create = {{"cpu_device_count", devices}}});
  }
  static std::vector<float> floats(const PjrtBuffer& buffer, size_t count) {
    std::vector<float> values(count);
    buffer.to_host(values.data(), static_cast<int64_t>(count * sizeof(float)));
    return values;
  }
};

TEST_P(PjrtClientTest, SumsAndGathersOverReplicas) {
  const auto client = PjrtClientTest::client(4);
  ASSERT_EQ(client->addressable_devices().size(), 4u);
  const PjrtProgram program = client->compile(kAllReduce);
  std::vector<PjrtBuffer> inputs;
  PjrtArguments arguments;
  for (size_t d = 0; d < 4; ++d) {
    const float values[2] = {static_cast<float>(d + 1), static_cast<float>(10 * d)};
    inputs.push_back(client->to_device(values, DType::kF32, {2}, d));
  }
  for (const PjrtBuffer& input : inputs) arguments.push_back({&input});
  const PjrtResults results = program.execute(arguments);
  for (size_t d = 0; d < 4; ++d) {
    EXPECT_EQ(floats(results[d][0], 2), (std::vector<float>{10, 60}));
    EXPECT_EQ(floats(results[d][1], 8), (std::vector<float>{1, 0, 2, 10, 3, 20, 4, 30}));
  }
}

TEST_P(PjrtClientTest, ConsumesADonatedArgument) {
  const auto client = PjrtClientTest::client();
  const PjrtProgram program = client->compile(kDonated);
  const float values[4] = {1, 2, 3, 4};
  PjrtBuffer state = client->to_device(values, DType::kF32, {4});
  for (int step = 0; step < 3; ++step) {
    PjrtResults results = program.execute({{&state}});
    EXPECT_TRUE(state.consumed());
    state = std::move(results[0][0]);
  }
  EXPECT_EQ(floats(state, 4), (std::vector<float>{4, 5, 6, 7}));
  EXPECT_EQ(program.executable().memory().alias_bytes, 16);
}

TEST_P(PjrtClientTest, LoadsWhatItSerialized) {
  const auto client = PjrtClientTest::client();
  const std::string bytes = client->compile(kDonated).executable().serialize();
  const PjrtProgram program = client->load(bytes);
  const float values[4] = {0, 0, 0, 0};
  const PjrtBuffer state = client->to_device(values, DType::kF32, {4});
  EXPECT_EQ(floats(program.execute({{&state}})[0][0], 4), (std::vector<float>{1, 1, 1, 1}));
}

TEST_P(PjrtClientTest, ReportsCodeAndTextOfABadProgram) {
  const auto client = PjrtClientTest::client();
  try {
    client->compile("module { func.func @main() { bogus } }");
    FAIL() << "compiled";
  } catch (const Error& error) {
    EXPECT_EQ(error.where(), GetParam());
    EXPECT_THAT(error.message(), StartsWith("PJRT_Client_Compile failed: code "));
  }
}

TEST_P(PjrtClientTest, RefusesBytesThatAreNoProgram) {
  const auto client = PjrtClientTest::client();
  EXPECT_THROW(client->load("this is no executable"), Error);
  EXPECT_THROW(client->load(""), Error);
}

TEST_P(PjrtClientTest, RefusesAReadOfAnotherSize) {
  const auto client = PjrtClientTest::client();
  const float values[4] = {1, 2, 3, 4};
  const PjrtBuffer buffer = client->to_device(values, DType::kF32, {2, 2});
  EXPECT_EQ(buffer.shape(), (std::vector<int64_t>{2, 2}));
  float out[3];
  EXPECT_THROW(buffer.to_host(out, sizeof(out)), Error);
}

INSTANTIATE_TEST_SUITE_P(Plugins, PjrtClientTest, testing::Values(CPU_PLUGIN, CPU_PLUGIN_OLD),
                         [](const auto& plugin) { return plugin.index == 0 ? "Newest" : "Oldest"; });

}  // namespace
}  // namespace tp
