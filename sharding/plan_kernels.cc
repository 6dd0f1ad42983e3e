#include "sharding/plan_kernels.h"

#include <algorithm>

#include "sharding/error.h"
#include "sharding/plan_file.h"
#include "sharding/yaml_document.h"

namespace tp {
namespace {

PlanKernel read_kernel(const YamlNode& op, const YamlNode& value, const std::string& file) {
  PlanKernel kernel{.op = op.text, .package = value.text, .built_in = false, .where = yaml_place(file, op)};
  for (const auto& [key, setting] : value.entries) {
    if (key.text == "kernel") {
      kernel.package = setting.text;
    } else if (key.text == "fallback" && (setting.text == "error" || setting.text == "builtin")) {
      kernel.built_in = setting.text == "builtin";
    } else {
      throw Error(yaml_place(file, key), "`" + op.text + "` has `kernel: PACKAGE` and `fallback: error` or `fallback: builtin`",
                  "write `" + op.text + ": {kernel: DIR, fallback: builtin}`");
    }
  }
  if (kernel.package.empty()) throw Error(kernel.where, "`" + op.text + "` has no package", "write `" + op.text + ": DIR`");
  return kernel;
}

}  // namespace

std::vector<PlanKernel> read_plan_kernels(const std::string& plan_file) {
  std::vector<PlanKernel> kernels;
  const YamlNode root = parse_yaml(read_plan_text(plan_file, plan_file), plan_file);
  for (const auto& [key, value] : root.entries) {
    if (key.text != "kernels") continue;
    if (value.kind != YamlNode::Kind::kMap) {
      throw Error(yaml_place(plan_file, value), "`kernels` is a mapping of operations to packages", "kernels: {norm: DIR}");
    }
    for (const auto& [op, package] : value.entries) {
      const PlanKernel kernel = read_kernel(op, package, plan_file);
      const auto same = [&](const PlanKernel& other) { return other.op == kernel.op; };
      if (std::any_of(kernels.begin(), kernels.end(), same))
        throw Error(kernel.where, "`" + kernel.op + "` is there twice", "remove one of them");
      kernels.push_back(kernel);
    }
  }
  return kernels;
}

}  // namespace tp
