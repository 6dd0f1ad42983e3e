// One rank of a job on a PJRT plugin, for the tests of the fake slice: slice_rank PLUGIN STEPS [HOST_BYTES]
// Every step adds, to a donated state, the sum over the ranks of (rank + 1), and gathers the ranks' states. HOST_BYTES more are
// put on the device first.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/pjrt_client.h"
#include "sharding/error.h"

namespace {

std::string program(size_t ranks) {
  std::string groups;
  for (size_t r = 0; r < ranks; ++r) groups += (r == 0 ? "" : ", ") + std::to_string(r);
  const std::string n = std::to_string(ranks);
  const std::string attribute = "replica_groups = dense<[[" + groups + "]]> : tensor<1x" + n + "xi64>";
  return R"(module @step attributes {mhlo.num_replicas = )" + n + R"( : i32} {
  func.func public @main(%state: tensor<1xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<1xf32>) -> (tensor<1xf32>, tensor<)" +
         n + R"(xf32>) {
    %sum = "stablehlo.all_reduce"(%x) ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %s = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %s : tensor<f32>
    }) {)" +
         attribute + R"(} : (tensor<1xf32>) -> tensor<1xf32>
    %next = stablehlo.add %state, %sum : tensor<1xf32>
    %mine = stablehlo.multiply %next, %x : tensor<1xf32>
    %all = "stablehlo.all_gather"(%mine) {all_gather_dim = 0 : i64, )" +
         attribute + R"(} : (tensor<1xf32>) -> tensor<)" + n + R"(xf32>
    return %next, %all : tensor<1xf32>, tensor<)" +
         n + R"(xf32>
  }
})";
}

void run(const std::string& plugin, int steps, size_t host_bytes) {
  using namespace tp;
  const auto client = PjrtClient::create(PjrtPlugin::load(plugin));
  const size_t ranks = client->devices().size();
  const std::vector<char> filler(host_bytes);
  const PjrtBuffer weight = client->to_device(filler.data(), DType::kU8, {static_cast<int64_t>(host_bytes)});
  const PjrtProgram step = client->compile(program(ranks));
  const float zero = 0, share = static_cast<float>(client->process_index() + 1);
  PjrtBuffer state = client->to_device(&zero, DType::kF32, {1});
  const PjrtBuffer x = client->to_device(&share, DType::kF32, {1});
  std::vector<float> all(ranks);
  for (int i = 0; i < steps; ++i) {
    PjrtResults results = step.execute({{&state, &x}});
    state = std::move(results[0][0]);
    results[0][1].to_host(all.data(), static_cast<int64_t>(ranks * sizeof(float)));
    std::string line = "rank " + std::to_string(client->process_index()) + " step " + std::to_string(i + 1) + ":";
    for (float value : all) line += " " + std::to_string(static_cast<int>(value));
    std::puts(line.c_str());
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argv[1], std::atoi(argv[2]), argc > 3 ? static_cast<size_t>(std::atoll(argv[3])) : 0);
    return 0;
  } catch (const tp::Error& error) {
    std::printf("error: %s\n", error.message().c_str());
    return 1;
  }
}
