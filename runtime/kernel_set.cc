#include "runtime/kernel_set.h"

#include "sharding/error.h"

namespace tp {
namespace {

std::string shown(const KernelMatch& match) {
  std::string text;
  for (const auto& [name, value] : match) text += (text.empty() ? "" : ", ") + name + ": " + value;
  return "{" + text + "}";
}

}  // namespace

KernelSet::KernelSet(const std::vector<KernelSource>& sources, const std::string& platform) : platform_(platform) {
  std::map<std::string, std::string> symbols;  // and the package of each
  for (const KernelSource& source : sources) {
    const KernelPackage& package = packages_.emplace_back(read_kernel_package(source.package));
    const std::string where = (package.dir / "kernel.yaml").string();
    const auto [at, fresh] = by_op_.try_emplace(package.op);
    Entry& entry = at->second;
    if (!fresh) {
      throw Error(where, "replaces `" + package.op + "`, as " + entry.package.string() + " does", "give one of them");
    }
    entry.package = package.dir;
    entry.built_in = source.built_in;
    for (const KernelVariant& variant : package.variants) {
      if (variant.platform != platform) continue;
      const auto [other, unused] = symbols.emplace(variant.symbol, package.dir.string());
      if (!unused) {
        throw Error(where, "has the symbol @" + variant.symbol + ", which " + other->second + " has too",
                    "export one of them under another name");
      }
      entry.kernels[variant.match] = {package.name, variant.symbol, variant.signature, variant_text(package, variant)};
    }
  }
}

const ChosenKernel* KernelSet::find(const std::string& op, const KernelMatch& match) const {
  const auto at = by_op_.find(op);
  if (at == by_op_.end()) return nullptr;
  const Entry& entry = at->second;
  const auto found = entry.kernels.find(match);
  if (found != entry.kernels.end()) return &found->second;
  if (entry.built_in) return nullptr;
  throw Error((entry.package / "kernel.yaml").string(), "has no variant for " + platform_ + " of " + op + " " + shown(match),
              "export one, or allow the built-in operation in a plan: kernels: {" + op +
                  ": {kernel: " + entry.package.string() + ", fallback: builtin}}");
}

}  // namespace tp
