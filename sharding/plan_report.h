#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sharding/dtype.h"
#include "sharding/plan.h"
#include "sharding/roofline.h"
#include "sharding/slice.h"

namespace tp {

// What the chips hold of one stored tensor.
struct WeightShare {
  std::string name;  // as in the checkpoint, without the base model's prefix: "layers.3.mlp.up_proj.weight"
  int layer = -1;
  Style style = Style::kReplicated;
  WeightKind kind = WeightKind::kStored;  // in memory
  std::string rule, where;                // the pattern that chose the style and where it was written; empty = no rule
  std::vector<int64_t> shape;
  std::vector<ShardSlice> slices;  // one per rank, all of the same local shape
  bool shared = false;             // no memory of its own: a tied head that uses the embedding's tensor
  int64_t bytes = 0;               // on each chip, padding included
  int64_t padding_bytes = 0;       // of these, zeros, on the chip that has most of them
};

// A collective of the forward pass.
struct PlannedCollective {
  std::string module;  // "layers.3.mlp.down_proj"
  std::string op;      // "all_reduce", "all_gather", as --stats names them
  int64_t bytes = 0;   // that it carries for one token, counted as --stats does
};

struct OpTotal {
  int64_t count = 0, bytes = 0;
  bool operator==(const OpTotal&) const = default;
};

// What `plan show` prints. Sizes are for a model in `dtype`.
struct PlanReport {
  std::string plan, model_type;
  int tp_size = 1;
  DType dtype = DType::kBF16;
  std::vector<WeightShare> weights;            // in the order of the forward pass
  std::vector<PlannedCollective> collectives;  // of one decode step of one row, in order
  int64_t stored_bytes = 0;                    // of the whole model, each tensor once
  int64_t bytes_per_chip = 0, padding_bytes_per_chip = 0;
  int64_t cache_bytes_per_token = 0;      // of KV cache on each chip
  std::map<std::string, OpTotal> totals;  // collectives by op
  StepNeed step;                          // of one token of one sequence with an empty cache, on each chip
  std::optional<StepBound> bound;         // where the chips are known
};

// The plan must have passed check_plan. `int8_cache` counts a cache of integers with a float32 scale for each head, of keys and
// of values.
PlanReport plan_report(const ResolvedPlan& plan, const ModelConfig& config, DType dtype, bool lm_head_stored,
                       bool int8_cache = false);

// A table for people: what chip `rank` holds, equal layers on one line, then the totals. Ends with a newline.
std::string report_table(const PlanReport& report, int rank);

// Everything as one JSON object, all chips, all layers. Ends with a newline.
std::string report_json(const PlanReport& report);

// One self-contained page (no scripts or styles from elsewhere) that draws which part of each weight lies on which chip.
std::string report_html(const PlanReport& report);

// "[0:64 144:160, :]": the part of the tensor that a slice takes, in the way of NumPy; "all" for the whole.
std::string slice_text(const ShardSlice& slice, const std::vector<int64_t>& shape);

}  // namespace tp
