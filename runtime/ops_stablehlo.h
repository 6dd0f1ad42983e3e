#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/hlo_builder.h"
#include "runtime/kernel_calls.h"
#include "runtime/kernel_set.h"
#include "runtime/ops.h"
#include "runtime/parameter_table.h"

namespace tp {

// The static shape of one program. Either one row, whose cache slot is an input, or all slots at once, row b being slot b (a
// row that is not in flight has length 0 and start 0).
struct HloShape {
  int64_t rows = 1;
  int64_t width = 1;  // positions of a row, <= cache_len
  int64_t slots = 1;
  int64_t cache_len = 0;

  bool rows_are_slots() const { return rows == slots; }
};

// What an argument of a program is fed from.
struct HloInput {
  enum class Kind {
    kIds,     // int32 [rows, width]
    kStart,   // int32 [rows]
    kLength,  // int32 [rows]
    kSlot,    // int32 [rows]
    kCos,     // float32 [rows, width, rotary_dim / 2] of ModelConfig::ropes[index]
    kSin,
    kParameter,  // this rank's shard of parameter `index`, as integers where its kind is not kStored
    kScales,     // of those integers (HloWeightTypes)
    kZeros,
    kCacheK,     // [slots, kv_heads_local, cache_len, head_dim] of layer `index`; consumed, the program returns the next one
    kCacheV,
    kValue,  // the index-th value that the caller put in
  };
  Kind kind;
  int index = 0;
  HloType type;
};

// Whether an argument is a parameter or a part of one.
constexpr bool is_weight(HloInput::Kind kind) {
  using enum HloInput::Kind;
  return kind == kParameter || kind == kScales || kind == kZeros;
}

// What a linear weight that is kept as integers is in a program. int4 has its inputs before its outputs, so that a group is whole
// rows: no chip has to reorder anything to scale it.
struct HloWeightTypes {
  HloType values;  // kInt8: [.., out, in]; int4: [.., in, out]
  HloType scales;  // kInt8: [.., out]; int4: [.., groups, out]
  HloType zeros;   // as the scales, in bfloat16, of what stands for zero among -8 to 7; only with zero points
};
HloWeightTypes weight_types(const Parameter& parameter);

// A program as text, with what it takes and returns. Byte-identical on every rank of a job.
struct HloProgram {
  std::string name;
  std::string text;
  std::vector<HloInput> inputs;
  HloType result;                                    // result 0
  std::vector<HloInput> caches;                      // results 1, 2, …: the inputs that they replace
  std::map<std::string, HloCollective> collectives;  // of one execution
  KernelCalls kernel_calls;                          // of one execution
};

// The model's vocabulary (ops.h), traced: every call adds operations to the text of one StableHLO program with one replica per
// rank. Weights, caches and what changes from call to call are arguments, declared when first used; a rank enters only by
// stablehlo.replica_id.
class StableHloOps : public Ops {
 public:
  // `storage[id]` = the parameter whose memory parameter id shares (itself, unless tied). The references must outlive this.
  StableHloOps(const ModelConfig& config, const ParameterTable& table, const std::vector<ParamId>& storage, DType dtype,
               const HloShape& shape, int tp_size, const KernelSet& kernels);

  Value embedding(ParamId table, bool vocab_sharded) override;
  Value linear(const Value& x, ParamId weight, ParamId bias, bool float32_out = false) override;
  Value linear_partial(const Value& x, ParamId weight) override;
  Value norm(const Value& x, ParamId weight, ParamId bias, NormKind kind, double eps, int64_t group = 0) override;
  Value rope(const Value& x, int table, int64_t heads_local, int64_t head_dim) override;
  Value attention(const Value& q, const Value& k, const Value& v, const AttentionSpec& spec) override;
  Value gated_activation(const Value& gate, const Value& up, Activation activation) override;
  Value activation(const Value& x, Activation activation) override;
  Value xielu(const Value& x, ParamId positive, ParamId negative) override;
  Value sigmoid_gate(const Value& x, const Value& gate) override;
  Value moe(const Value& x, const MoeSpec& spec) override;
  Value add(const Value& a, const Value& b) override;
  Value scale(const Value& x, double factor) override;
  Value softcap(const Value& x, double cap) override;
  Value clamp(const Value& x, double low, double high) override;
  Value slice_features(const Value& x, int64_t begin, int64_t size) override;
  Value slice_heads(const Value& x, int64_t heads, int64_t begin, int64_t size) override;
  Value concat_heads(const Value& a, const Value& b, int64_t heads, bool shared) override;
  Value last_position(const Value& x) override;
  Value all_reduce(const Value& partial, ParamId bias) override;
  Value all_gather(const Value& x, int64_t features) override;
  Value local_part(const Value& x, int64_t features_local) override;

  // A value that the caller feeds in.
  Value input(const HloType& type);
  // The traced program. Its first result is `result`.
  HloProgram finish(const std::string& name, const Value& result) const;

 private:
  Hlo argument(HloInput::Kind kind, int index, const std::string& name, const HloType& type);
  Hlo parameter(ParamId id);
  Hlo per_row(HloInput::Kind kind, const char* name);  // int32 [rows]
  Hlo row_scalar(HloInput::Kind kind, const char* name, int64_t row);
  Hlo as_float(const Value& x);
  Value rounded(const Hlo& x);
  // A float32 vector over the last dimension of a [rows, width, features] shape.
  Hlo over_features(ParamId id, const HloType& type);
  Hlo rank();
  // The kernel that replaces `op`, nullptr when none does. Throws Error as KernelSet::find.
  const ChosenKernel* kernel_for(const std::string& op, const KernelMatch& match);
  // Calls the kernel in the place of `op`. Throws Error when its type is not that of the operands and the results.
  std::vector<Hlo> call_kernel(const ChosenKernel& kernel, const std::string& op, const std::vector<Hlo>& operands,
                               const std::vector<HloType>& results);
  Hlo activated(const Hlo& x, Activation activation);

  // Weights (stablehlo_weights.cc).
  // A linear weight: in the model's dtype [.., out, in], or integers that are widened where they are multiplied.
  struct Weight {
    Hlo values, scales, zeros;  // the latter two as the kind has them
    WeightKind kind = WeightKind::kStored;
  };
  Weight weight(ParamId id);
  Weight gather(const Weight& weight, const Hlo& indices);  // of experts
  // x [.., in] times the weight, float32: batch dimensions first, then x's free ones, then the weight's.
  Hlo multiply(const Hlo& x, const Weight& weight, const std::vector<int64_t>& x_batch, int64_t x_dim);
  Hlo widened(const Weight& weight);  // int4 [.., in, out] in the model's dtype

  // Experts (stablehlo_experts.cc).
  struct Routing {
    Hlo experts;  // int32 [rows, width, top_k]
    Hlo weights;  // float32, the same shape
  };
  Routing route_sparsely(const Hlo& scores, const MoeConfig& config);
  // This rank's experts; a bias that the family has not is left empty.
  struct ExpertWeights {
    Weight gate_up;  // [experts_local, 2 * intermediate, hidden]
    Hlo gate_bias;   // [experts_local, 2 * intermediate]
    Weight down;     // [experts_local, hidden, intermediate]
    Hlo down_bias;   // [experts_local, hidden]
  };
  Routing route(const Hlo& x, const MoeSpec& spec);
  // The weighted sum over each position's experts, float32 [rows, width, hidden].
  Hlo all_experts(const Hlo& x, const Routing& routing, const ExpertWeights& weights, const MoeSpec& spec);
  Hlo chosen_experts(const Hlo& x, const Routing& routing, const ExpertWeights& weights, const MoeSpec& spec);
  Hlo expert_gate(const Hlo& gate_up, const MoeSpec& spec);
  Hlo expert_bias(ParamId id, int64_t experts_local);

  // Attention (stablehlo_attention.cc).
  // Where one row's new positions go in the cache.
  struct RowWrite {
    Hlo slot, begin;  // of the window of `width` positions that is written
    Hlo from;         // of the new positions, with `width` zeros before them, that window
    Hlo real;         // bool [width]: which positions of the window are new
  };
  const RowWrite& row_write(int64_t row);
  Hlo updated_cache(HloInput::Kind kind, int layer, const Hlo& values, int64_t heads);
  Hlo cached_rows(const Hlo& cache);
  Hlo visible(int64_t window, bool chunked);
  // The kernel of a decode step's attention, as the operation `op`.
  const ChosenKernel* decode_kernel(const std::string& op, const AttentionSpec& spec);
  // By a kernel that writes the new position into the cache itself.
  Value append_attention(const ChosenKernel& kernel, const Hlo& q, const Hlo& k, const Hlo& v, const AttentionSpec& spec);

  const ModelConfig& config_;
  const ParameterTable& table_;
  const std::vector<ParamId>& storage_;
  DType dtype_;
  HloShape shape_;
  HloBuilder hlo_;
  std::vector<HloInput> inputs_;
  std::map<std::pair<HloInput::Kind, int>, Hlo> declared_;
  std::map<std::pair<HloInput::Kind, int64_t>, Hlo> row_scalars_;
  std::vector<std::pair<HloInput, Hlo>> caches_;  // as they are after the operations so far
  std::map<int64_t, RowWrite> row_writes_;
  std::map<std::pair<int64_t, bool>, Hlo> visible_;  // by window, chunked or not
  std::optional<Hlo> rank_;
  int values_ = 0;
  const KernelSet& kernels_;
  KernelCalls kernel_calls_;
};

}  // namespace tp
