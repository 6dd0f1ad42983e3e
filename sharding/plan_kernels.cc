#include "sharding/plan_kernels.h"

#include <algorithm>
#include <set>

#include "sharding/kernel_ops.h"
#include "sharding/near_names.h"
#include "sharding/plan_file.h"

namespace tp {
namespace {

class KernelsReader {
 public:
  KernelsReader(const std::string& file, std::vector<Error>& problems) : file_(file), problems_(problems) {}

  std::vector<PlanKernel> read(const YamlNode& value) {
    if (value.kind != YamlNode::Kind::kMap) {
      problem(value, "`kernels` is a mapping of operations to packages", "kernels: {norm: DIR}");
      return {};
    }
    refuse_duplicates(value);
    for (const auto& [op, kernel] : value.entries) {
      if (find_kernel_op(op.text) == nullptr) {
        problem(op, "no operation `" + op.text + "` can be replaced", kernel_op_fix(op.text));
      } else if (names_backends(kernel)) {
        refuse_duplicates(kernel);
        for (const auto& [backend, its] : kernel.entries) {
          if (require_known(backend, kBackends)) read_kernel(op, backend.text, its);
        }
      } else {
        read_kernel(op, "", kernel);
      }
    }
    return std::move(kernels_);
  }

 private:
  static inline const std::vector<std::string> kBackends = {"cpu", "tpu"}, kSettings = {"kernel", "fallback", "operator"};

  void problem(const YamlNode& node, const std::string& what, const std::string& fix) {
    problems_.emplace_back(yaml_place(file_, node), what, fix);
  }

  void refuse_duplicates(const YamlNode& map) {
    std::set<std::string> seen;
    for (const auto& entry : map.entries) {
      if (!seen.insert(entry.first.text).second)
        problem(entry.first, "`" + entry.first.text + "` is there twice", "remove one of them");
    }
  }

  static bool names_backends(const YamlNode& kernel) {
    return std::ranges::any_of(kernel.entries,
                               [](const auto& e) { return std::ranges::find(kBackends, e.first.text) != kBackends.end(); });
  }

  bool require_known(const YamlNode& key, const std::vector<std::string>& known) {
    if (std::ranges::find(known, key.text) != known.end()) return true;
    const std::string near = did_you_mean(key.text, known);
    problem(key, "unknown key `" + key.text + "`", near.empty() ? "the keys are " + quoted_list(known) : near);
    return false;
  }

  void read_kernel(const YamlNode& op, const std::string& backend, const YamlNode& value) {
    PlanKernel kernel{.op = op.text, .backend = backend, .package = value.text, .where = yaml_place(file_, op)};
    const size_t before = problems_.size();
    refuse_duplicates(value);
    for (const auto& [key, setting] : value.entries) {
      if (!require_known(key, kSettings)) continue;
      if (setting.kind != YamlNode::Kind::kScalar || setting.text.empty()) {
        problem(setting, "`" + key.text + "` is one word", "write `" + op.text + ": {kernel: DIR, fallback: builtin}`");
      } else if (key.text == "kernel") {
        kernel.package = setting.text;
      } else if (key.text == "operator") {
        kernel.operator_name = setting.text;
      } else if (setting.text == "error" || setting.text == "builtin") {
        kernel.built_in = setting.text == "builtin";
      } else {
        const std::string near = did_you_mean(setting.text, {"error", "builtin"});
        problem(setting, "`" + setting.text + "` is no fallback", near.empty() ? "`error` or `builtin`" : near);
      }
    }
    if (problems_.size() > before) return;
    if (kernel.package.empty()) return problem(op, "`" + op.text + "` has no package", "write `" + op.text + ": DIR`");
    kernels_.push_back(std::move(kernel));
  }

  const std::string& file_;
  std::vector<Error>& problems_;
  std::vector<PlanKernel> kernels_;
};

}  // namespace

std::vector<PlanKernel> parse_plan_kernels(const YamlNode& value, const std::string& file, std::vector<Error>& problems) {
  return KernelsReader(file, problems).read(value);
}

std::vector<PlanKernel> read_plan_kernels(const std::string& plan_file) {
  std::vector<PlanKernel> kernels;
  std::vector<Error> problems;
  const YamlNode root = parse_yaml(read_plan_text(plan_file, plan_file), plan_file);
  for (const auto& [key, value] : root.entries) {
    if (key.text == "kernels") kernels = parse_plan_kernels(value, plan_file, problems);
  }
  if (!problems.empty()) throw_all(problems);
  return kernels;
}

}  // namespace tp
