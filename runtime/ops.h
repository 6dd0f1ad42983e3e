#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/parameter_table.h"
#include "sharding/model_config.h"

namespace tp {

// An activation of one backend: an ATen tensor, a name in a StableHLO program. The decoder passes it around and never looks
// inside, so that the same code can be executed or traced.
class ValueRep {
 public:
  virtual ~ValueRep() = default;
};
using Value = std::shared_ptr<const ValueRep>;

// Attention of one layer over its cache. Counts are this rank's.
struct AttentionSpec {
  int layer = 0;
  int64_t heads_local = 0;
  int64_t kv_heads_local = 0;  // divides heads_local
  int64_t head_dim = 0;        // of q and k
  int64_t v_head_dim = 0;      // of v and the result
  ParamId sinks = kNoParam;    // [heads_local] logits that take part in the softmax and carry no value
  double scale = 0.0;
  double softcap = 0.0;  // cap * tanh(score / cap), before the mask; 0 = none
  int64_t window = 0;    // a query at position p sees keys in (p - window, p]; 0 = all
  bool chunked = false;  // keys in [p - p % window, p] instead
};

// The experts of one layer.
struct MoeSpec {
  const MoeConfig* config = nullptr;
  Activation activation = Activation::kSilu;
  ParamId router = kNoParam, router_bias = kNoParam;  // [experts, hidden], [experts]
  ParamId correction_bias = kNoParam;                 // [experts]
  ParamId gate_up = kNoParam,
          gate_up_bias = kNoParam;                // [experts_local, 2 * intermediate_local, hidden]; bias [experts_local, ..]
  ParamId down = kNoParam, down_bias = kNoParam;  // [experts_local, hidden, intermediate_local]; bias [experts_local, hidden]
  // How they lie on the ranks: whole; each expert cut by its intermediate features; or this rank has the experts
  // [rank * experts_local, + experts_local).
  enum class Split { kNone, kFeatures, kExperts } split = Split::kNone;
};

// Of xIELU, the same in every checkpoint: ACT2CLS["xielu"] of transformers.
inline constexpr double kXieluBeta = 0.5, kXieluEps = -1e-6;

struct LinearParams {
  ParamId weight = kNoParam, bias = kNoParam;
};

// The vocabulary that the model is written in. Unless said otherwise values are [B, T, features] in the model's dtype
// (activations of B rows and T right-padded positions); `features` may be this rank's part. Row b of the current call has
// length[b] real positions, the first at absolute position start[b], and uses cache slot slot[b]; padding positions give
// arbitrary finite numbers. Rounding is the same on every backend: matmuls accumulate in float32 and round once at the end.
class Ops {
 public:
  virtual ~Ops() = default;

  // --- inside one rank ---
  // Rows of a [vocab_local, hidden_local] table for the call's ids. With `vocab_sharded` the local row 0 is the row of id
  // rank * vocab_local, and ids that other ranks hold give zero.
  virtual Value embedding(ParamId table, bool vocab_sharded) = 0;
  // x W^T + b, W [out, in]; rounded once, after the bias. `float32_out` keeps the float32 accumulator (logits, router).
  virtual Value linear(const Value& x, ParamId weight, ParamId bias, bool float32_out = false) = 0;
  // Each of joined_linears (linear_weights.h) of one input, rounded as above.
  virtual std::vector<Value> linears(const Value& x, const std::vector<LinearParams>& params) {
    std::vector<Value> values;
    for (const LinearParams& one : params) values.push_back(linear(x, one.weight, one.bias));
    return values;
  }
  // x W^T as float32: a partial sum that still has to be reduced.
  virtual Value linear_partial(const Value& x, ParamId weight) = 0;
  // Normalizes the last dimension in float32, in groups of `group` features (0 = all of them; head_dim = per head, where
  // weight has `group` elements or one per feature), weight and bias applied in float32, rounded once. kLayerNorm may have a
  // bias.
  virtual Value norm(const Value& x, ParamId weight, ParamId bias, NormKind kind, double eps, int64_t group = 0) = 0;
  // Rotates the first rotary_dim features of every head by the float32 cos/sin of ModelConfig::ropes[table] at each position
  // (rope.h), rounded once.
  virtual Value rope(const Value& x, int table, int64_t heads_local, int64_t head_dim) = 0;
  // Appends k and v [B, T, kv_heads_local * head_dim] to the layer's cache, then softmax(scale q k^T) v over all
  // cached positions that each query may see (causal, window, never past the row's length). Query head h reads KV head
  // h / (heads_local / kv_heads_local). Scores, softmax and probabilities in float32, the result rounded once.
  virtual Value attention(const Value& q, const Value& k, const Value& v, const AttentionSpec& spec) = 0;
  // act(gate) * up in float32, rounded once.
  virtual Value gated_activation(const Value& gate, const Value& up, Activation activation) = 0;
  virtual Value activation(const Value& x, Activation activation) = 0;
  // xIELU with the learned numbers `positive` and `negative` (arXiv 2411.13010), in float32, rounded once.
  virtual Value xielu(const Value& x, ParamId positive, ParamId negative) = 0;
  // x * sigmoid(gate) with gate [B, T, 1] float32, rounded once.
  virtual Value sigmoid_gate(const Value& x, const Value& gate) = 0;
  // Each position through its top-k experts, weighted and summed (MoeConfig; router logits and weights in float32, gate_up and
  // the activated product rounded). Rounded when split is kNone, else this rank's float32 partial sum.
  virtual Value moe(const Value& x, const MoeSpec& spec) = 0;
  virtual Value add(const Value& a, const Value& b) = 0;
  // x * factor in float32; keeps x's dtype (also of float32 logits).
  virtual Value scale(const Value& x, double factor) = 0;
  virtual Value softcap(const Value& x, double cap) = 0;  // cap * tanh(x / cap), as scale
  virtual Value clamp(const Value& x, double low, double high) = 0;
  // Features [begin, begin + size) of the last dimension.
  virtual Value slice_features(const Value& x, int64_t begin, int64_t size) = 0;
  // Features [begin, begin + size) of each of `heads` equal parts of the last dimension.
  virtual Value slice_heads(const Value& x, int64_t heads, int64_t begin, int64_t size) = 0;
  // Per head [a; b]; with `shared` b holds one head's features, which all heads get.
  virtual Value concat_heads(const Value& a, const Value& b, int64_t heads, bool shared) = 0;
  // [B, T, F] -> [B, 1, F]: the last real position of each row.
  virtual Value last_position(const Value& x) = 0;

  // --- between ranks; with tp_size 1 they only round, add the bias or pass on ---
  // Sums float32 partials over the ranks, adds `bias` once, rounds to the model's dtype. Also takes model-dtype values that
  // are non-zero on one rank only (sharded embedding).
  virtual Value all_reduce(const Value& partial, ParamId bias) = 0;
  // Joins the ranks' features of the last dimension in rank order and cuts the result to `features` (removes padding).
  virtual Value all_gather(const Value& x, int64_t features) = 0;
  // Features [rank * features_local, + features_local) of a replicated value, zero-padded at the end: the input of
  // rowwise_split_input.
  virtual Value local_part(const Value& x, int64_t features_local) = 0;
};

}  // namespace tp
