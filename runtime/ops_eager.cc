#include "runtime/ops_eager.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <cstring>

#include "runtime/cpu_kernels.h"
#include "runtime/eager_activation.h"
#include "runtime/eager_experts.h"
#include "runtime/moe_routing.h"
#include "runtime/rope.h"

namespace tp {
namespace {

// Floats that are worth a thread of their own in element-wise loops.
constexpr int64_t kGrainFloats = 1 << 14;

const EagerValue& eager(const Value& value) {
  return static_cast<const EagerValue&>(*value);
}
const at::Tensor& tensor(const Value& value) {
  return eager(value).tensor;
}
Value make(at::Tensor value) {
  return std::make_shared<EagerValue>(std::move(value));
}

const float* data_or_null(const at::Tensor& vector) {
  return vector.defined() ? vector.const_data_ptr<float>() : nullptr;
}

at::Tensor over(const std::vector<float>& values, int64_t rows) {
  return at::from_blob(const_cast<float*>(values.data()), {rows, static_cast<int64_t>(values.size()) / rows}, at::kFloat)
      .clone();
}

// Rotates one head: pairs (i, i + half), or (2i, 2i + 1) when interleaved.
void rotate_head(const float* x, const float* cos, const float* sin, int64_t half, bool interleaved, float* out) {
  const int64_t step = interleaved ? 2 : 1, second = interleaved ? 1 : half;
  for (int64_t i = 0; i < half; ++i) {
    const float a = x[i * step], b = x[i * step + second];
    out[i * step] = a * cos[i] - b * sin[i];
    out[i * step + second] = b * cos[i] + a * sin[i];
  }
}

}  // namespace

EagerOps::EagerOps(const ModelConfig& config, const ParameterTable& table, const Weights& weights,
                   std::vector<LayerCache> cache, Communicator& communicator)
    : config_(config),
      table_(table),
      communicator_(communicator),
      dtype_(scalar_type(weights.dtype())),
      cache_(std::move(cache)) {
  for (ParamId id = 0; id < table.size(); ++id) {
    // ATen has no tensor over constant memory; nothing writes to these.
    void* data = const_cast<std::byte*>(weights.data(id));
    weights_.push_back(at::from_blob(data, table.at(id).shape(), scalar_type(weights.dtype(table.at(id)))));
  }
  floats_.resize(weights_.size());
}

void EagerOps::begin(const Batch& batch) {
  batch_ = batch;
  rotations_.clear();
  for (const RopeConfig& rope : config_.ropes) {
    const RopeTable table = rope_table(rope, config_.max_position_embeddings, batch.width, batch.start, batch.total);
    rotations_.push_back({over(table.cos, batch.rows * batch.width), over(table.sin, batch.rows * batch.width)});
  }
}

at::Tensor EagerOps::floats(ParamId id) {
  if (id == kNoParam) return {};
  at::Tensor& copy = floats_[static_cast<size_t>(id)];
  if (!copy.defined()) copy = weight(id).flatten().to(at::kFloat);
  return copy;
}

Value EagerOps::rounded(const at::Tensor& value) const {
  return make(value.to(dtype_));
}

Value EagerOps::embedding(ParamId table, bool vocab_sharded) {
  const at::Tensor& rows = weight(table);
  const int64_t first = vocab_sharded ? communicator_.rank() * rows.size(0) : 0;
  const size_t row_bytes = static_cast<size_t>(rows.size(1) * rows.element_size());
  at::Tensor out = at::zeros({static_cast<int64_t>(batch_.ids.size()), rows.size(1)}, rows.options());
  for (size_t i = 0; i < batch_.ids.size(); ++i) {
    const int64_t row = batch_.ids[i] - first;
    if (row < 0 || row >= rows.size(0)) continue;
    std::memcpy(static_cast<char*>(out.mutable_data_ptr()) + i * row_bytes,
                static_cast<const char*>(rows.const_data_ptr()) + static_cast<size_t>(row) * row_bytes, row_bytes);
  }
  return make(out);
}

Value EagerOps::linear(const Value& x, ParamId weight_id, ParamId bias, bool float32_out) {
  at::Tensor y = matmul_(eager(x).as_float(), weight(weight_id));
  if (bias != kNoParam) y.add_(floats(bias));
  return float32_out ? make(y) : rounded(y);
}

Value EagerOps::linear_partial(const Value& x, ParamId weight_id) {
  return make(matmul_(eager(x).as_float(), weight(weight_id)));
}

Value EagerOps::norm(const Value& x, ParamId weight_id, ParamId bias, NormKind kind, double eps, int64_t group) {
  const at::Tensor& from = eager(x).as_float();
  const int64_t size = group == 0 ? from.size(1) : group;
  const at::Tensor scales = floats(weight_id), shifts = floats(bias);
  const bool per_feature = scales.defined() && scales.numel() != size;
  at::Tensor out = at::empty_like(from);
  const float* source = from.const_data_ptr<float>();
  float* target = out.mutable_data_ptr<float>();
  at::parallel_for(0, from.numel() / size, std::max<int64_t>(1, kGrainFloats / size), [&](int64_t begin, int64_t end) {
    norm_rows(source + begin * size, end - begin, size, kind, static_cast<float>(eps),
              per_feature ? nullptr : data_or_null(scales), per_feature ? nullptr : data_or_null(shifts),
              target + begin * size);
  });
  if (per_feature) {
    out.mul_(scales);
    if (shifts.defined()) out.add_(shifts);
  }
  return rounded(out);
}

Value EagerOps::rope(const Value& x, int table, int64_t heads_local, int64_t head_dim) {
  const RopeConfig& rope = config_.ropes[static_cast<size_t>(table)];
  const Rotation& rotation = rotations_[static_cast<size_t>(table)];
  const int64_t half = rope.rotary_dim / 2;
  at::Tensor out = eager(x).as_float().clone();
  const float* source = eager(x).as_float().const_data_ptr<float>();
  const float *cos = rotation.cos.const_data_ptr<float>(), *sin = rotation.sin.const_data_ptr<float>();
  float* target = out.mutable_data_ptr<float>();
  at::parallel_for(0, out.size(0), std::max<int64_t>(1, kGrainFloats / out.size(1)), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line)
      for (int64_t head = 0; head < heads_local; ++head) {
        const int64_t offset = (line * heads_local + head) * head_dim;
        rotate_head(source + offset, cos + line * half, sin + line * half, half, rope.layout == RopeLayout::kInterleaved,
                    target + offset);
      }
  });
  return rounded(out);
}

Value EagerOps::attention(const Value& q, const Value& k, const Value& v, const AttentionSpec& spec) {
  const LayerCache& cache = cache_[static_cast<size_t>(spec.layer)];
  append_to_cache(cache, batch_, tensor(k), tensor(v));
  return rounded(attend_over_cache(cache, batch_, eager(q).as_float(), spec, floats(spec.sinks)));
}

Value EagerOps::gated_activation(const Value& gate, const Value& up, Activation activation) {
  return rounded(activated(eager(gate).as_float(), activation).mul_(tensor(up)));
}

Value EagerOps::activation(const Value& x, Activation activation) {
  return rounded(activated(eager(x).as_float(), activation));
}

Value EagerOps::sigmoid_gate(const Value& x, const Value& gate) {
  return rounded(at::sigmoid(eager(gate).as_float()).mul(eager(x).as_float()));
}

Value EagerOps::moe(const Value& x, const MoeSpec& spec) {
  const at::Tensor& from = eager(x).as_float();
  at::Tensor logits = matmul_(from, weight(spec.router));
  if (spec.router_bias != kNoParam) logits.add_(floats(spec.router_bias));
  const at::Tensor correction = floats(spec.correction_bias);
  const std::vector<ExpertChoice> choices =
      route_tokens(logits.const_data_ptr<float>(), from.size(0), *spec.config, data_or_null(correction));

  LocalExperts experts{weight(spec.gate_up), {}, weight(spec.down), {}};
  const int64_t count = experts.gate_up.size(0);
  if (spec.split == MoeSpec::Split::kExperts) experts.first_expert = communicator_.rank() * count;
  const auto bias_of = [&](ParamId id) {
    if (id == kNoParam) return at::Tensor();
    const at::Tensor all = floats(id).view({spec.config->num_experts, -1});
    return count == all.size(0) ? all : all.narrow(0, experts.first_expert, count);
  };
  experts.gate_up_bias = bias_of(spec.gate_up_bias);
  // Of ranks that hold parts of the same expert one adds the bias.
  if (spec.split != MoeSpec::Split::kFeatures || communicator_.rank() == 0) experts.down_bias = bias_of(spec.down_bias);
  const at::Tensor sum = run_experts(from, choices, experts, *spec.config, spec.activation, dtype_, matmul_);
  return spec.split == MoeSpec::Split::kNone ? rounded(sum) : make(sum);
}

Value EagerOps::add(const Value& a, const Value& b) {
  return make(at::add(tensor(a), tensor(b)));
}

Value EagerOps::scale(const Value& x, double factor) {
  return make(at::mul(tensor(x), factor));
}

Value EagerOps::softcap(const Value& x, double cap) {
  return make(at::div(tensor(x), cap).tanh_().mul_(cap));
}

Value EagerOps::clamp(const Value& x, double low, double high) {
  return make(at::clamp(tensor(x), low, high));
}

Value EagerOps::slice_features(const Value& x, int64_t begin, int64_t size) {
  return make(tensor(x).narrow(1, begin, size));
}

Value EagerOps::slice_heads(const Value& x, int64_t heads, int64_t begin, int64_t size) {
  const at::Tensor& whole = tensor(x);
  return make(whole.unflatten(1, {heads, -1}).narrow(2, begin, size).reshape({whole.size(0), heads * size}));
}

Value EagerOps::concat_heads(const Value& a, const Value& b, int64_t heads, bool shared) {
  const int64_t lines = tensor(a).size(0);
  const at::Tensor first = tensor(a).reshape({lines, heads, -1});
  const at::Tensor second = tensor(b).reshape({lines, shared ? 1 : heads, -1}).expand({lines, heads, -1});
  return make(at::cat({first, second}, 2).flatten(1));
}

Value EagerOps::last_position(const Value& x) {
  std::vector<int64_t> lines;
  for (int64_t row = 0; row < batch_.rows; ++row)
    lines.push_back(row * batch_.width + batch_.length[static_cast<size_t>(row)] - 1);
  return make(tensor(x).index_select(0, at::tensor(lines)));
}

Value EagerOps::all_reduce(const Value& partial, ParamId bias) {
  at::Tensor sum = tensor(partial).to(at::kFloat);
  if (communicator_.world_size() > 1) communicator_.all_reduce_sum(sum.mutable_data_ptr<float>(), sum.numel());
  if (bias != kNoParam) sum.add_(floats(bias));
  return rounded(sum);
}

Value EagerOps::all_gather(const Value& x, int64_t features) {
  const int64_t ranks = communicator_.world_size();
  const at::Tensor part = tensor(x).contiguous();
  if (ranks == 1) return make(part.narrow(1, 0, features));
  at::Tensor parts = at::empty({ranks, part.size(0), part.size(1)}, part.options());
  communicator_.all_gather(part.const_data_ptr(), parts.mutable_data_ptr(), part.numel() * part.element_size());
  return make(parts.permute({1, 0, 2}).reshape({part.size(0), ranks * part.size(1)}).narrow(1, 0, features));
}

Value EagerOps::local_part(const Value& x, int64_t features_local) {
  const at::Tensor& whole = tensor(x);
  const int64_t begin = std::min(whole.size(1), communicator_.rank() * features_local);
  const int64_t stored = std::min(features_local, whole.size(1) - begin);
  const at::Tensor part = whole.narrow(1, begin, stored);
  return make(stored == features_local ? part : at::constant_pad_nd(part, {0, features_local - stored}));
}

}  // namespace tp
