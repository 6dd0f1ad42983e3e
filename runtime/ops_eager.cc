#include "runtime/ops_eager.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "runtime/cpu/integer_rows.h"
#include "runtime/eager_experts.h"
#include "runtime/float_convert.h"
#include "runtime/moe_routing.h"
#include "runtime/norm_form.h"
#include "runtime/stored_blocks.h"

namespace tp {
namespace {

const EagerValue& eager(const Value& value) {
  return static_cast<const EagerValue&>(*value);
}
at::Tensor tensor(const Value& value) {
  return eager(value).tensor();
}

// `count` bytes of every line, from byte `from_begin` to byte `to_begin`.
void copy_columns(const EagerValue& from, int64_t from_begin, int64_t count, const EagerValue& to, int64_t to_begin) {
  for (int64_t line = 0; line < from.lines; ++line)
    std::memcpy(static_cast<std::byte*>(to.rows.row(line)) + to_begin,
                static_cast<const std::byte*>(from.rows.row(line)) + from_begin, static_cast<size_t>(count));
}

}  // namespace

EagerOps::EagerOps(const ModelConfig& config, const ParameterTable& table, const Weights& weights,
                   std::vector<cpu::LayerCache> cache, const cpu::Context& context, Communicator& communicator,
                   EagerKernels& kernels)
    : config_(config),
      table_(table),
      weights_(weights),
      communicator_(communicator),
      kernels_(kernels),
      context_(context),
      dtype_(weights.dtype()),
      cache_(std::move(cache)),
      floats_(static_cast<size_t>(table.size())),
      product_biases_(floats_.size()) {}

void EagerOps::begin(const Batch& batch) {
  batch_ = batch;
  rotations_.clear();
  for (const RopeConfig& rope : config_.ropes)
    rotations_.push_back(rope_table(rope, config_.max_position_embeddings, batch.width, batch.start, batch.total));
}

const float* EagerOps::floats(ParamId id) {
  if (id == kNoParam) return nullptr;
  std::vector<float>& copy = floats_[static_cast<size_t>(id)];
  if (copy.empty()) {
    const Parameter& parameter = table_.at(id);
    copy.resize(static_cast<size_t>(parameter.elements()));
    convert_elements(weights_.data(id), weights_.dtype(parameter), copy.data(), DType::kF32, parameter.elements());
  }
  return copy.data();
}

const float* EagerOps::bias_of(const std::vector<LinearParams>& params) {
  if (std::all_of(params.begin(), params.end(), [](const LinearParams& one) { return one.bias == kNoParam; })) return nullptr;
  std::vector<float>& whole = product_biases_[static_cast<size_t>(params[0].weight)];
  if (whole.empty()) {
    whole.resize(static_cast<size_t>(weights_.packed().product(params[0].weight).out_padded()));
    for (const LinearParams& one : params) {
      if (one.bias == kNoParam) continue;
      std::copy_n(floats(one.bias), table_.at(one.bias).elements(), whole.begin() + weights_.packed().out_begin(one.weight));
    }
  }
  return whole.data();
}

std::vector<const float*> EagerOps::expert_biases(ParamId bias, const std::vector<const cpu::PackedLinear*>& products) {
  std::vector<const float*> rows;
  if (bias == kNoParam) return rows;
  const int64_t out = products[0]->out(), padded = products[0]->out_padded();
  std::vector<float>& all = product_biases_[static_cast<size_t>(bias)];
  if (all.empty()) {
    all.resize(products.size() * static_cast<size_t>(padded));
    for (size_t i = 0; i < products.size(); ++i)
      std::copy_n(floats(bias) + static_cast<int64_t>(i) * out, out, all.begin() + static_cast<int64_t>(i) * padded);
  }
  for (size_t i = 0; i < products.size(); ++i) rows.push_back(all.data() + static_cast<int64_t>(i) * padded);
  return rows;
}

const float* EagerOps::largest_of_whole_rows(cpu::ConstRows x, int64_t rows, const cpu::PackedLinear& product) {
  if (!product.quantizes_rows(context_) || communicator_.world_size() == 1) return nullptr;
  const auto count = static_cast<size_t>(rows), ranks = static_cast<size_t>(communicator_.world_size());
  std::vector<float> mine(count), all(ranks * count);
  cpu::largest_of_rows(x, rows, product.in(), mine.data(), context_.pool);
  communicator_.all_gather(mine.data(), all.data(), static_cast<int64_t>(count * sizeof(float)));
  largest_.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
  for (size_t i = count; i < all.size(); ++i) largest_[i % count] = cpu::larger_of(largest_[i % count], all[i]);
  return largest_.data();
}

std::shared_ptr<EagerValue> EagerOps::run(const EagerValue& x, const std::vector<LinearParams>& params, DType dtype,
                                          const float* largest) {
  const cpu::PackedLinear& product = weights_.packed().product(params[0].weight);
  int64_t out = 0;
  for (const LinearParams& one : params) {
    if (&weights_.packed().product(one.weight) != &product || weights_.packed().out_begin(one.weight) != out)
      throw std::logic_error("linears that were not packed together");
    out += table_.at(one.weight).shape()[0];
  }
  if (out != product.out()) throw std::logic_error("a part of linears that were packed together");
  auto y = empty_value(x.lines, out, dtype);
  product.run(x.rows, x.lines, y->rows, context_, bias_of(params), largest);
  return y;
}

Value EagerOps::embedding(ParamId table, bool vocab_sharded) {
  const std::vector<int64_t> shape = table_.at(table).shape();
  const int64_t first = vocab_sharded ? communicator_.rank() * shape[0] : 0;
  auto out = fresh(static_cast<int64_t>(batch_.ids.size()), shape[1]);
  const auto row_bytes = static_cast<size_t>(out->line_bytes());
  for (int64_t line = 0; line < out->lines; ++line) {
    const int64_t row = batch_.ids[static_cast<size_t>(line)] - first;
    if (row < 0 || row >= shape[0]) {
      std::memset(out->rows.row(line), 0, row_bytes);
    } else {
      std::memcpy(out->rows.row(line), weights_.data(table) + row * out->line_bytes(), row_bytes);
    }
  }
  return out;
}

Value EagerOps::linear(const Value& x, ParamId weight, ParamId bias, bool float32_out) {
  return run(eager(x), {{weight, bias}}, float32_out ? DType::kF32 : dtype_);
}

std::vector<Value> EagerOps::linears(const Value& x, const std::vector<LinearParams>& params) {
  // Those that a plan keeps in several formats are products of their own.
  const PackedWeights& packed = weights_.packed();
  if (&packed.product(params[0].weight) != &packed.product(params.back().weight)) return Ops::linears(x, params);
  const std::shared_ptr<EagerValue> whole = run(eager(x), params, dtype_);
  std::vector<Value> values;
  for (const LinearParams& one : params)
    values.push_back(feature_view(*whole, weights_.packed().out_begin(one.weight), table_.at(one.weight).shape()[0]));
  return values;
}

Value EagerOps::linear_partial(const Value& x, ParamId weight) {
  const float* largest = largest_of_whole_rows(eager(x).rows, eager(x).lines, weights_.packed().product(weight));
  return run(eager(x), {{weight, kNoParam}}, DType::kF32, largest);
}

Value EagerOps::norm(const Value& x, ParamId weight, ParamId bias, NormKind kind, double eps, int64_t group) {
  const EagerValue& from = eager(x);
  const int64_t size = group == 0 ? from.features : group;
  if (!kernels_.empty() && kernels_.takes_norm(norm_form(table_, weight, bias, kind, size)))
    return kernels_.norm(from, size, weights_.data(weight), eps);
  const bool per_feature = weight != kNoParam && table_.at(weight).elements() != size;
  auto out = fresh(from.lines, from.features);
  cpu::norm_rows(from.rows, from.lines, from.features, size, kind, static_cast<float>(eps),
                 {floats(weight), floats(bias), per_feature}, out->rows, context_);
  return out;
}

Value EagerOps::rope(const Value& x, int table, int64_t heads_local, int64_t head_dim) {
  const RopeConfig& rope = config_.ropes[static_cast<size_t>(table)];
  const RopeTable& rotation = rotations_[static_cast<size_t>(table)];
  auto out = fresh(eager(x).lines, eager(x).features);
  cpu::rope_rows(eager(x).rows, out->lines, heads_local, head_dim, rope.rotary_dim, rope.layout, rotation.cos.data(),
                 rotation.sin.data(), out->rows, context_);
  return out;
}

Value EagerOps::attention(const Value& q, const Value& k, const Value& v, const AttentionSpec& spec) {
  const cpu::LayerCache& cache = cache_[static_cast<size_t>(spec.layer)];
  const cpu::AttentionBatch batch{batch_.rows, batch_.width, batch_.start.data(), batch_.length.data(), batch_.slot.data()};
  const cpu::AttentionRule rule{
      spec.heads_local,  static_cast<float>(spec.scale), static_cast<float>(spec.softcap), spec.window, spec.chunked,
      floats(spec.sinks)};
  cpu::append_to_cache(eager(k).rows, eager(v).rows, batch, cache, context_);
  auto out = fresh(eager(q).lines, spec.heads_local * cache.value_dim);
  cpu::attend(eager(q).rows, batch, cache, rule, out->rows, context_);
  return out;
}

Value EagerOps::gated_activation(const Value& gate, const Value& up, Activation activation) {
  auto out = fresh(eager(gate).lines, eager(gate).features);
  cpu::activation_rows(eager(gate).rows, eager(up).rows, out->lines, out->features, activation, out->rows, context_);
  return out;
}

Value EagerOps::activation(const Value& x, Activation activation) {
  auto out = fresh(eager(x).lines, eager(x).features);
  cpu::activation_rows(eager(x).rows, {}, out->lines, out->features, activation, out->rows, context_);
  return out;
}

Value EagerOps::xielu(const Value& x, ParamId positive, ParamId negative) {
  const auto softplus = [&](ParamId id) { return std::log1p(std::exp(floats(id)[0])); };
  const at::Tensor value = tensor(x).to(at::kFloat), linear = value.mul(kXieluBeta);
  const at::Tensor above = value.square().mul_(softplus(positive));
  const at::Tensor below = at::expm1(value.clamp_max(kXieluEps)).sub_(value).mul_(kXieluBeta + softplus(negative));
  return value_over(at::where(value.gt(0), above, below).add_(linear).to(scalar_type(dtype_)));
}

Value EagerOps::sigmoid_gate(const Value& x, const Value& gate) {
  return value_over(at::sigmoid(tensor(gate)).mul(tensor(x)).to(scalar_type(dtype_)));
}

Value EagerOps::moe(const Value& x, const MoeSpec& spec) {
  const EagerValue& from = eager(x);
  const std::shared_ptr<EagerValue> logits = run(from, {{spec.router, spec.router_bias}}, DType::kF32);
  const std::vector<ExpertChoice> choices =
      route_tokens(static_cast<const float*>(logits->rows.data), from.lines, *spec.config, floats(spec.correction_bias));
  LocalExperts experts;
  const int64_t count = extents(table_.at(spec.gate_up).shape()).experts;
  if (spec.split == MoeSpec::Split::kExperts) experts.first_expert = communicator_.rank() * count;
  for (int64_t expert = 0; expert < count; ++expert) {
    experts.gate_up.push_back(&weights_.packed().product(spec.gate_up, expert));
    experts.down.push_back(&weights_.packed().product(spec.down, expert));
  }
  experts.gate_up_bias = expert_biases(spec.gate_up_bias, experts.gate_up);
  // Of ranks that hold parts of the same expert one adds the bias.
  if (spec.split != MoeSpec::Split::kFeatures || communicator_.rank() == 0)
    experts.down_bias = expert_biases(spec.down_bias, experts.down);
  // These ranks go through the same experts, with the same tokens.
  if (spec.split == MoeSpec::Split::kFeatures)
    experts.largest_of_whole_rows = [this](cpu::ConstRows inner, int64_t rows, const cpu::PackedLinear& down) {
      return largest_of_whole_rows(inner, rows, down);
    };
  auto sum = empty_value(from.lines, experts.down[0]->out(), DType::kF32);
  run_experts(from.rows, from.lines, choices, experts, *spec.config, spec.activation, sum->rows, context_);
  if (spec.split != MoeSpec::Split::kNone) return sum;
  auto out = fresh(sum->lines, sum->features);
  cpu::convert_rows(sum->rows, sum->lines, sum->features, out->rows, context_);
  return out;
}

Value EagerOps::add(const Value& a, const Value& b) {
  auto out = fresh(eager(a).lines, eager(a).features);
  cpu::add_rows(eager(a).rows, eager(b).rows, out->lines, out->features, out->rows, context_);
  return out;
}

Value EagerOps::scale(const Value& x, double factor) {
  return value_over(at::mul(tensor(x), factor));
}

Value EagerOps::softcap(const Value& x, double cap) {
  return value_over(at::div(tensor(x), cap).tanh_().mul_(cap));
}

Value EagerOps::clamp(const Value& x, double low, double high) {
  return value_over(at::clamp(tensor(x), low, high));
}

Value EagerOps::slice_features(const Value& x, int64_t begin, int64_t size) {
  return feature_view(eager(x), begin, size);
}

Value EagerOps::slice_heads(const Value& x, int64_t heads, int64_t begin, int64_t size) {
  const EagerValue& whole = eager(x);
  const int64_t element = size_bytes(whole.rows.dtype), head_features = whole.features / heads;
  auto out = empty_value(whole.lines, heads * size, whole.rows.dtype);
  for (int64_t head = 0; head < heads; ++head)
    copy_columns(whole, (head * head_features + begin) * element, size * element, *out, head * size * element);
  return out;
}

Value EagerOps::concat_heads(const Value& a, const Value& b, int64_t heads, bool shared) {
  const EagerValue &first = eager(a), &second = eager(b);
  const int64_t first_bytes = first.line_bytes() / heads, second_bytes = second.line_bytes() / (shared ? 1 : heads);
  auto out = fresh(first.lines, first.features + second.features * (shared ? heads : 1));
  for (int64_t head = 0; head < heads; ++head) {
    const int64_t to = head * (first_bytes + second_bytes);
    copy_columns(first, head * first_bytes, first_bytes, *out, to);
    copy_columns(second, shared ? 0 : head * second_bytes, second_bytes, *out, to + first_bytes);
  }
  return out;
}

Value EagerOps::last_position(const Value& x) {
  const EagerValue& all = eager(x);
  auto out = empty_value(batch_.rows, all.features, all.rows.dtype);
  for (int64_t row = 0; row < batch_.rows; ++row) {
    const int64_t line = row * batch_.width + batch_.length[static_cast<size_t>(row)] - 1;
    std::memcpy(out->rows.row(row), all.rows.row(line), static_cast<size_t>(out->line_bytes()));
  }
  return out;
}

Value EagerOps::all_reduce(const Value& partial, ParamId bias) {
  const EagerValue& part = eager(partial);
  cpu::ConstRows sum = part.rows;
  std::shared_ptr<EagerValue> reduced;
  if (communicator_.world_size() > 1) {
    reduced = empty_value(part.lines, part.features, DType::kF32);
    cpu::convert_rows(part.rows, part.lines, part.features, reduced->rows, context_);
    communicator_.all_reduce_sum(static_cast<float*>(reduced->rows.data), part.lines * part.features);
    sum = reduced->rows;
  }
  auto out = fresh(part.lines, part.features);
  if (bias == kNoParam) {
    cpu::convert_rows(sum, part.lines, part.features, out->rows, context_);
  } else {
    cpu::add_rows(sum, {floats(bias), DType::kF32, 0}, part.lines, part.features, out->rows, context_);
  }
  return out;
}

Value EagerOps::all_gather(const Value& x, int64_t features) {
  const EagerValue& part = eager(x);
  const int64_t ranks = communicator_.world_size(), element = size_bytes(part.rows.dtype), bytes = part.line_bytes();
  if (ranks == 1) return feature_view(part, 0, features);
  auto mine = empty_value(part.lines, part.features, part.rows.dtype);
  copy_columns(part, 0, bytes, *mine, 0);
  auto parts = empty_value(ranks * part.lines, part.features, part.rows.dtype);
  communicator_.all_gather(mine->rows.data, parts->rows.data, part.lines * bytes);
  auto out = empty_value(part.lines, features, part.rows.dtype);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    EagerValue of_rank = *parts;
    of_rank.rows.data = parts->rows.row(rank * part.lines);
    of_rank.lines = part.lines;
    const int64_t begin = rank * bytes, count = std::min(bytes, features * element - begin);
    if (count > 0) copy_columns(of_rank, 0, count, *out, begin);
  }
  return out;
}

Value EagerOps::local_part(const Value& x, int64_t features_local) {
  const EagerValue& whole = eager(x);
  const int64_t begin = std::min(whole.features, communicator_.rank() * features_local);
  const int64_t stored = std::min(features_local, whole.features - begin);
  if (stored == features_local) return feature_view(whole, begin, stored);
  auto out = empty_value(whole.lines, features_local, whole.rows.dtype);
  std::memset(out->rows.data, 0, static_cast<size_t>(out->lines * out->line_bytes()));
  copy_columns(whole, begin * size_bytes(whole.rows.dtype), stored * size_bytes(whole.rows.dtype), *out, 0);
  return out;
}

}  // namespace tp
