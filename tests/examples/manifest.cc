#include "tests/examples/manifest.h"

namespace tp {

std::vector<YAML::Node> read_manifest(const std::string& path) {
  return YAML::LoadAllFromFile(path);
}

YAML::Node pod_spec(const YAML::Node& document, const std::string& replica) {
  const YAML::Node spec = document["spec"];
  return replica.empty() ? spec["template"]["spec"] : spec["mpiReplicaSpecs"][replica]["template"]["spec"];
}

std::vector<std::string> container_command(const YAML::Node& pod) {
  std::vector<std::string> words;
  const YAML::Node container = pod["containers"][0];
  for (const char* part : {"command", "args"}) {
    for (const YAML::Node& word : container[part]) words.push_back(word.as<std::string>());
  }
  return words;
}

}  // namespace tp
