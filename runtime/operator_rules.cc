#include "runtime/operator_rules.h"

#include "sharding/error.h"

namespace tp {
namespace {

std::vector<std::string> operator_names(const KernelSource& source, const KernelPackage& package) {
  if (!source.operator_name.empty()) return {source.operator_name};
  if (!package.operator_name.empty()) return {package.operator_name};
  return find_kernel_op(package.op)->operators;
}

}  // namespace

OperatorRules::OperatorRules(const std::vector<KernelSource>& sources) {
  std::map<std::string, std::string> packages;  // by namespace
  for (const KernelSource& source : sources) {
    Rule rule{.package = read_kernel_package(source.package), .built_in = source.built_in};
    rule.names = operator_names(source, rule.package);
    const std::string& op = rule.package.op;
    if (source.built_in && (rule.names.empty() || rule.package.builds.empty())) continue;  // for chips alone
    if (rule.names.empty())
      throw Error(source.package, "no torch operator can replace `" + op + "`", "leave it out with --device cpu");
    rule.build = find_operator_build(source.package);
    const auto [other, fresh] = packages.emplace(rule.build.id, source.package);
    if (!fresh) {
      throw Error(rule.build.library.string(),
                  "its operators are in `" + rule.build.id + "`, as those of " + other->second + " are", "give one of them");
    }
    const auto [at, added] = by_op_.try_emplace(op, std::move(rule));
    if (!added)
      throw Error(source.package, "replaces `" + op + "`, as " + at->second.package.dir.string() + " does", "give one of them");
  }
}

bool OperatorRules::replaces_norm(const std::string& form) const {
  const auto at = by_op_.find("norm");
  if (at == by_op_.end()) return false;
  if (form == "rms") return true;
  const Rule& rule = at->second;
  if (rule.built_in) return false;
  throw Error(rule.package.dir.string(), "its operator is norm {kind: rms}, the model has norm {kind: " + form + "}",
              "leave it out, or allow the built-in operation in a plan: kernels: {norm: {kernel: " + rule.package.dir.string() +
                  ", fallback: builtin}}");
}

}  // namespace tp
