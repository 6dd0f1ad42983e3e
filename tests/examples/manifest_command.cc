// manifest_command FILE [REPLICA]: the command of the manifest's last document, one word a line, for scripts that run it.
#include <cstdio>

#include "tests/examples/manifest.h"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const YAML::Node document = tp::read_manifest(argv[1]).back();
  for (const std::string& word : tp::container_command(tp::pod_spec(document, argc > 2 ? argv[2] : "")))
    std::puts(word.c_str());
}
