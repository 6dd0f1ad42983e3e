#include "sharding/branch_check.h"

#include <algorithm>

namespace tp {
namespace {

std::string style_name(const PlannedModule& planned) {
  return "`" + std::string(style_info(planned.style).name) + "`";
}

// "split or whole": both mends where the branch can be split.
std::string either_fix(const Branch& branch) {
  if (branch.split_fix.empty()) return whole_fix(branch);
  return branch.split_fix + ", or all of them to `replicated`";
}

class BranchChecker {
 public:
  BranchChecker(const Branch& branch, PlanFindings& findings) : branch_(branch), findings_(findings) {}

  std::optional<Layout> run() {
    for (const PlannedModule* planned : branch_.in) {
      if (misfit(*planned)) return std::nullopt;
    }
    if (!sort_inputs()) return std::nullopt;
    if (!whole_.empty() && !split_.empty()) return refuse_half();
    const Layout inner = split_.empty() ? Layout::kWhole : Layout::kSharded;
    if (misfit(*branch_.out) || !check_out(inner)) return std::nullopt;
    return inner;
  }

 private:
  bool sort_inputs() {
    bool good = true;
    for (const PlannedModule* planned : branch_.in) {
      const std::optional<Layout> layout = output_layout(planned->style, Layout::kWhole);
      if (!layout) {
        findings_.add(*planned, "`rowwise` takes the features of its chip, but the residual stream is whole on every chip",
                      either_fix(branch_));
        good = false;
      } else {
        (*layout == Layout::kWhole ? whole_ : split_).push_back(planned);
      }
    }
    return good;
  }

  // Reported where the user wrote something, if he did.
  std::optional<Layout> refuse_half() {
    const auto found = std::ranges::find_if(branch_.in, [&](const PlannedModule* m) { return findings_.by_user(*m); });
    const PlannedModule& subject = found == branch_.in.end() ? *whole_.front() : **found;
    findings_.add(subject,
                  "half of " + branch_.name + " is split: " + names_of(split_) + " " + branch_.split_by + ", while " +
                      names_of(whole_) + (whole_.size() == 1 ? " is" : " are") + " whole on every chip",
                  either_fix(branch_));
    return std::nullopt;
  }

  bool check_out(Layout inner) {
    const PlannedModule& out = *branch_.out;
    const std::string name = short_name(out);
    const std::optional<Layout> after = output_layout(out.style, inner);
    if (after == Layout::kWhole) return true;
    if (after == Layout::kSharded) {
      findings_.add(out, style_name(out) + " leaves its output split, but the residual stream is whole on every chip",
                    "set " + name + " to `replicated` or `rowwise_split_input`");
    } else if (inner == Layout::kSharded) {
      findings_.add(out, "its input is split " + branch_.split_by + ", which " + style_name(out) + " does not take",
                    "set " + name + " to `rowwise`, or " + names_of(branch_.in) + " to `replicated`");
    } else {
      const std::string split = branch_.split_fix.empty() ? "" : ", or " + branch_.split_fix.substr(4);
      findings_.add(out,
                    "`rowwise` takes an input that is split " + branch_.split_by + ", but " + names_of(branch_.in) +
                        (branch_.in.size() == 1 ? " leaves" : " leave") + " it whole on every chip",
                    "set " + name + " to `replicated` or `rowwise_split_input`" + split);
    }
    return false;
  }

  const Branch& branch_;
  PlanFindings& findings_;
  std::vector<const PlannedModule*> whole_, split_;
};

}  // namespace

std::optional<Layout> check_branch(const Branch& branch, PlanFindings& findings) {
  return BranchChecker(branch, findings).run();
}

std::string whole_fix(const Branch& branch) {
  std::vector<const PlannedModule*> all = branch.in;
  all.push_back(branch.out);
  return "set " + names_of(all) + " to `replicated`";
}

std::string names_of(const std::vector<const PlannedModule*>& modules) {
  std::vector<std::string> names;
  for (const PlannedModule* planned : modules) names.push_back(short_name(*planned));
  return joined_with_and(names);
}

}  // namespace tp
