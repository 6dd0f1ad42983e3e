#include "sharding/attention_check.h"

#include "sharding/branch_check.h"

namespace tp {
namespace {

struct HeadCounts {
  int64_t heads = 0, kv_heads = 0;
};

HeadCounts head_counts(const LayerModules& layer) {
  if (const PlannedModule* qkv = layer.find(Role::kQkv)) {
    const ModuleSpec& module = qkv->module;
    if (module.parts.empty()) return {module.heads_out, module.heads_out};
    return {module.parts[0].heads, module.parts[1].heads};
  }
  if (const PlannedModule* kv_b = layer.find(Role::kKvB)) return {kv_b->module.heads_out, kv_b->module.heads_out};
  return {layer.find(Role::kQ)->module.heads_out, layer.find(Role::kK)->module.heads_out};
}

class AttentionChecker {
 public:
  AttentionChecker(const LayerModules& layer, int tp_size, PlanFindings& findings)
      : layer_(layer), tp_size_(tp_size), counts_(head_counts(layer)), findings_(findings) {
    branch_ = {.name = "attention",
               .split_by = "by heads",
               .in = layer.present({Role::kQ, Role::kQB, Role::kK, Role::kV, Role::kQkv, Role::kKvB, Role::kAttentionGate}),
               .out = layer.find(Role::kO),
               .split_fix = {}};
    branch_.split_fix = split_fix();
  }

  void run() {
    check_compressed(Role::kQA, Role::kQANorm);
    check_compressed(Role::kKvA, Role::kKvANorm);
    const std::optional<Layout> inner = check_branch(branch_, findings_);
    if (!inner) return;
    if (*inner == Layout::kSharded) {
      for (const PlannedModule* planned : branch_.in) check_heads(*planned);
    }
    check_norm(Role::kQNorm, {Role::kQ, Role::kQkv}, *inner);
    check_norm(Role::kKNorm, {Role::kK, Role::kQkv}, *inner);
    check_sinks(*inner);
  }

 private:
  bool kv_divides() const { return counts_.kv_heads % tp_size_ == 0; }
  bool heads_divide() const { return counts_.heads % tp_size_ == 0; }
  bool kv_can_be_replicated() const { return heads_divide() && tp_size_ % counts_.kv_heads == 0; }

  std::string split_fix() const {
    const std::string out = " and " + short_name(*branch_.out) + " to `rowwise`";
    if (const PlannedModule* qkv = layer_.find(Role::kQkv)) {
      const std::string name = short_name(*qkv);
      if (kv_divides()) return "set " + name + (qkv->module.parts.empty() ? " to `colwise`" : " to `packed_colwise`") + out;
      return kv_can_be_replicated() ? "set " + name + " to `kv_replicated`" + out : "";
    }
    if (kv_divides() && heads_divide()) return "set " + names_of(branch_.in) + " to `colwise`" + out;
    if (!kv_can_be_replicated() || layer_.find(Role::kKvB) != nullptr) return "";
    return "set " + short_name(*branch_.in[0]) + " to `colwise`, " + names_of({branch_.in[1], branch_.in[2]}) +
           " to `kv_replicated`" + out;
  }

  std::string heads_fix() const {
    const std::string whole = whole_fix(branch_);
    if (!kv_can_be_replicated()) return whole + ", or write `uneven: allow` in the plan";
    const PlannedModule* qkv = layer_.find(Role::kQkv);
    return whole + ", or " + (qkv ? short_name(*qkv) : names_of({branch_.in[1], branch_.in[2]})) + " to `kv_replicated`";
  }

  void check_heads(const PlannedModule& planned) {
    const std::vector<FusedPart>& parts = planned.module.parts;
    const int64_t heads_per_group = parts.empty() ? planned.module.heads_per_group : parts.front().heads_per_group;
    if (heads_per_group > 0) return;  // dealt out unevenly, as the plan allows
    const std::string chips = " cannot be split over " + std::to_string(tp_size_) + " chips";
    const Role role = planned.module.role;
    if ((role == Role::kQ || role == Role::kQB || role == Role::kQkv) && !heads_divide()) {
      return findings_.add(planned, std::to_string(counts_.heads) + " heads" + chips, heads_fix());
    }
    const bool has_kv_heads = role == Role::kK || role == Role::kV || role == Role::kQkv;
    if (!has_kv_heads || kv_divides()) return;
    if (planned.style != Style::kKvReplicated) return refuse_kv_heads(planned, chips);
    if (tp_size_ % counts_.kv_heads == 0) return;
    findings_.add(planned,
                  "`kv_replicated` needs a number of chips that is a multiple of the " + std::to_string(counts_.kv_heads) +
                      " KV heads, not " + std::to_string(tp_size_),
                  heads_fix());
  }

  // k and v are split alike in all but a few plans; one message is then enough.
  void refuse_kv_heads(const PlannedModule& planned, const std::string& chips) {
    const PlannedModule* k = layer_.find(Role::kK);
    if (planned.module.role == Role::kV && k != nullptr && k->style == planned.style) return;
    findings_.add(planned, std::to_string(counts_.kv_heads) + " KV heads" + chips, heads_fix());
  }

  void check_norm(Role role, std::initializer_list<Role> projections, Layout inner) {
    const PlannedModule* norm = layer_.find(role);
    if (norm == nullptr || misfit(*norm)) return;
    const PlannedModule& projection = *layer_.present(projections).front();
    if (norm->module.heads_out == 0) return;  // one weight for every head: fits any heads
    if (norm->module.weight_shape.size() > 1) return check_head_norm(*norm, projection, inner);
    if (inner == Layout::kWhole) return;
    findings_.add(projection,
                  short_name(*norm) + " spans the whole projection, which is split " + branch_.split_by + " over the chips",
                  "set " + names_of(branch_.in) + " to `colwise_gather_output` and " + short_name(*branch_.out) +
                      " to `rowwise_split_input`");
  }

  // A norm with a weight for each head is cut as the heads are.
  void check_head_norm(const PlannedModule& norm, const PlannedModule& projection, Layout inner) {
    const bool cut = norm.style != Style::kReplicated;
    const Style wanted = projection.style == Style::kKvReplicated ? Style::kKvReplicated : Style::kColwise;
    if (inner == Layout::kWhole ? !cut : norm.style == wanted) return;
    findings_.add(norm,
                  "it has a weight for each head, and " + short_name(projection) +
                      (inner == Layout::kWhole ? " has all heads on every chip" : " is split by heads"),
                  "set " + short_name(norm) + " to `" +
                      std::string(style_info(inner == Layout::kWhole ? Style::kReplicated : wanted).name) + "`");
  }

  void check_sinks(Layout inner) {
    const PlannedModule* sinks = layer_.find(Role::kSinks);
    if (sinks == nullptr || misfit(*sinks)) return;
    const Style wanted = inner == Layout::kSharded ? Style::kColwise : Style::kReplicated;
    if (sinks->style == wanted) return;
    findings_.add(*sinks,
                  "there is one for each head, and attention is " + std::string(inner == Layout::kSharded ? "" : "not ") +
                      "split by heads",
                  "remove the rule: they follow the heads");
  }

  // Latent attention: what is compressed is normalized and shared by all heads, so it has to be whole.
  void check_compressed(Role role, Role norm) {
    const PlannedModule* planned = layer_.find(role);
    if (planned == nullptr || misfit(*planned)) return;
    if (output_layout(planned->style, Layout::kWhole) == Layout::kWhole) return;
    findings_.add(*planned, short_name(*layer_.find(norm)) + " needs its output whole on every chip", "use `replicated`");
  }

  const LayerModules& layer_;
  int tp_size_;
  HeadCounts counts_;
  Branch branch_;
  PlanFindings& findings_;
};

}  // namespace

void check_attention(const LayerModules& layer, int tp_size, PlanFindings& findings) {
  AttentionChecker(layer, tp_size, findings).run();
}

}  // namespace tp
