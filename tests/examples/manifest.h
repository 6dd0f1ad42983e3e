#pragma once

#include <string>
#include <vector>

#include "yaml-cpp/yaml.h"

namespace tp {

// The documents of a Kubernetes manifest.
std::vector<YAML::Node> read_manifest(const std::string& path);

// The pod template of a document: of a Job, or of one replica type ("Launcher") of an MPIJob.
YAML::Node pod_spec(const YAML::Node& document, const std::string& replica = "");

// Command and arguments of the first container.
std::vector<std::string> container_command(const YAML::Node& pod);

}  // namespace tp
