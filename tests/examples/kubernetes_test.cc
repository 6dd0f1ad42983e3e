// The manifests of examples/kubernetes hold together: what a cluster would refuse, or would wait for without end, is found
// here.
#include <gtest/gtest.h>

#include <numeric>
#include <sstream>

#include "launcher/options.h"
#include "tests/examples/manifest.h"

namespace tp {
namespace {

const std::string kDir = TPRUN_SOURCE_DIR "/examples/kubernetes/";

// Options of a command line that begins with tprun's path.
Options options_of(std::vector<std::string> command) {
  EXPECT_EQ(command.at(0), "/opt/tprun/bin/tprun");
  command.erase(command.begin());
  return parse_options(command);
}

void expect_mounts_have_volumes(const YAML::Node& pod) {
  for (const YAML::Node& mount : pod["containers"][0]["volumeMounts"]) {
    bool found = false;
    for (const YAML::Node& volume : pod["volumes"])
      found = found || volume["name"].as<std::string>() == mount["name"].as<std::string>();
    EXPECT_TRUE(found) << mount["name"];
  }
}

TEST(Kubernetes, MpiJobStartsTprunOnceOverAllWorkers) {
  const std::vector<YAML::Node> documents = read_manifest(kDir + "mpijob.yaml");
  ASSERT_EQ(documents.size(), 1U);
  const YAML::Node& job = documents[0];
  EXPECT_EQ(job["apiVersion"].as<std::string>(), "kubeflow.org/v2beta1");
  EXPECT_EQ(job["kind"].as<std::string>(), "MPIJob");
  EXPECT_EQ(job["spec"]["mpiReplicaSpecs"]["Launcher"]["replicas"].as<int>(), 1);
  EXPECT_EQ(job["spec"]["mpiReplicaSpecs"]["Worker"]["replicas"].as<int>(), 2);
  const Options options = options_of(container_command(pod_spec(job, "Launcher")));
  EXPECT_EQ(options.command, "generate");
  EXPECT_EQ(options.text("hostfile"), "/etc/mpi/hostfile");
  EXPECT_FALSE(options.given("nproc-per-node"));  // slotsPerWorker says it, in the hostfile
  for (const char* replica : {"Launcher", "Worker"}) expect_mounts_have_volumes(pod_spec(job, replica));
}

TEST(Kubernetes, SliceHasOneTprunPerHost) {
  const std::vector<YAML::Node> documents = read_manifest(kDir + "tpu-slice.yaml");
  ASSERT_EQ(documents.size(), 2U);
  const YAML::Node &service = documents[0], &job = documents[1];
  const YAML::Node pod = pod_spec(job);
  // Pods find one another by name only with a headless service of the subdomain's name that selects them.
  EXPECT_EQ(service["metadata"]["name"].as<std::string>(), pod["subdomain"].as<std::string>());
  EXPECT_EQ(service["spec"]["clusterIP"].as<std::string>(), "None");
  EXPECT_EQ(service["spec"]["selector"]["job-name"].as<std::string>(), job["metadata"]["name"].as<std::string>());
  // Without an index no pod would know its number; fewer at once than all would wait for the others without end.
  EXPECT_EQ(job["spec"]["completionMode"].as<std::string>(), "Indexed");
  const int hosts = job["spec"]["completions"].as<int>();
  EXPECT_EQ(job["spec"]["parallelism"].as<int>(), hosts);

  const Options options = options_of(container_command(pod));
  EXPECT_EQ(options.command, "generate");
  const int chips_per_host = pod["containers"][0]["resources"]["limits"]["google.com/tpu"].as<int>();
  EXPECT_EQ(options.text("nproc-per-node"), std::to_string(chips_per_host));
  std::istringstream sizes(pod["nodeSelector"]["cloud.google.com/gke-tpu-topology"].as<std::string>());
  int chips = 1;
  for (std::string size; std::getline(sizes, size, 'x');) chips *= std::stoi(size);
  EXPECT_EQ(chips, hosts * chips_per_host);
  EXPECT_GT(pod["terminationGracePeriodSeconds"].as<double>(), *options.number("grace"));
  expect_mounts_have_volumes(pod);
}

}  // namespace
}  // namespace tp
