#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/kernel_package.h"
#include "runtime/kernel_source.h"
#include "runtime/operator_build.h"

namespace tp {

// Which operations of the CPU engine torch operators replace, and by which library; nothing is loaded.
class OperatorRules {
 public:
  struct Rule {
    KernelPackage package;
    OperatorBuild build;
    std::vector<std::string> names;  // of the operator: the first that the library has
    bool built_in = false;           // what runs where the operator does not fit
  };

  // Reads and checks the packages. Throws Error: what read_kernel_package and find_operator_build refuse, an operation that no
  // operator replaces, two packages for one operation, two libraries with one namespace.
  explicit OperatorRules(const std::vector<KernelSource>& sources);

  const std::map<std::string, Rule>& by_op() const { return by_op_; }
  // Whether a norm of this form (norm_form.h) is replaced. Throws Error where it is not and the built-in one is not allowed.
  bool replaces_norm(const std::string& form) const;

 private:
  std::map<std::string, Rule> by_op_;
};

}  // namespace tp
