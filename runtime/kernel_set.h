#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "runtime/kernel_package.h"
#include "runtime/kernel_source.h"

namespace tp {

// A kernel chosen for one operation of a program.
struct ChosenKernel {
  std::string package;
  std::string symbol;
  std::string signature;  // normalized
  std::string text;       // all of its functions
};

// The kernels that replace operations of a model's programs on one platform.
class KernelSet {
 public:
  // No kernel: every operation is built in.
  KernelSet() = default;
  // Reads and checks the packages for programs on `platform`. Throws Error: what read_kernel_package and variant_text refuse,
  // two packages for one operation, one symbol in two packages.
  KernelSet(const std::vector<KernelSource>& sources, const std::string& platform);

  bool empty() const { return by_op_.empty(); }
  const std::vector<KernelPackage>& packages() const { return packages_; }
  // Whether a package is there for the operation.
  bool replaces(const std::string& op) const { return by_op_.contains(op); }
  // The kernel whose variant is for exactly this, nullptr for the built-in operation. Throws Error where none fits and the
  // source's fallback says so, telling what would have been needed.
  const ChosenKernel* find(const std::string& op, const KernelMatch& match) const;

 private:
  struct Entry {
    std::filesystem::path package;  // directory
    bool built_in = false;
    std::map<KernelMatch, ChosenKernel> kernels;
  };

  std::vector<KernelPackage> packages_;
  std::map<std::string, Entry> by_op_;
  std::string platform_;
};

}  // namespace tp
