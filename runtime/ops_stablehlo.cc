#include "runtime/ops_stablehlo.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "runtime/norm_form.h"
#include "sharding/error.h"

namespace tp {
namespace {

using Kind = HloInput::Kind;

const Hlo& hlo(const Value& value) {
  return static_cast<const Hlo&>(*value);
}

Value make(const Hlo& value) {
  return std::make_shared<Hlo>(value);
}

}  // namespace

StableHloOps::StableHloOps(const ModelConfig& config, const ParameterTable& table, const std::vector<ParamId>& storage,
                           DType dtype, const HloShape& shape, int tp_size, const KernelSet& kernels)
    : config_(config), table_(table), storage_(storage), dtype_(dtype), shape_(shape), hlo_(tp_size), kernels_(kernels) {}

const ChosenKernel* StableHloOps::kernel_for(const std::string& op, const KernelMatch& match) {
  const ChosenKernel* kernel = kernels_.find(op, match);
  if (kernel == nullptr && kernels_.replaces(op)) ++kernel_calls_[op][kBuiltIn];
  return kernel;
}

std::vector<Hlo> StableHloOps::call_kernel(const ChosenKernel& kernel, const std::string& op, const std::vector<Hlo>& operands,
                                           const std::vector<HloType>& results) {
  std::string types, returned;
  for (const Hlo& operand : operands) types += (types.empty() ? "" : ",") + operand.type.text();
  for (const HloType& result : results) returned += (returned.empty() ? "" : ",") + result.text();
  const std::string signature = "(" + types + ")->" + (results.size() == 1 ? returned : "(" + returned + ")");
  if (signature != kernel.signature) {
    throw Error(kernel.package, "@" + kernel.symbol + " is " + kernel.signature + ", " + op + " needs " + signature,
                "export it again with the operands that docs/kernels.md lists");
  }
  ++kernel_calls_[op][kernel.package];
  return hlo_.call(kernel.symbol, kernel.text, operands, results);
}

Hlo StableHloOps::argument(Kind kind, int index, const std::string& name, const HloType& type) {
  const auto found = declared_.find({kind, index});
  if (found != declared_.end()) return found->second;
  inputs_.push_back({kind, index, type});
  return declared_[{kind, index}] = hlo_.argument(name, type);
}

Hlo StableHloOps::parameter(ParamId id) {
  const ParamId stored = storage_[static_cast<size_t>(id)];
  const Parameter& parameter = table_.at(stored);
  return argument(Kind::kParameter, stored, parameter.name(),
                  {parameter.keep_float32 ? DType::kF32 : dtype_, parameter.shape()});
}

Hlo StableHloOps::per_row(Kind kind, const char* name) {
  return argument(kind, 0, name, {DType::kI32, {shape_.rows}});
}

Hlo StableHloOps::row_scalar(Kind kind, const char* name, int64_t row) {
  const auto found = row_scalars_.find({kind, row});
  if (found != row_scalars_.end()) return found->second;
  return row_scalars_[{kind, row}] = hlo_.reshape(hlo_.slice(per_row(kind, name), 0, row, row + 1), {});
}

Hlo StableHloOps::as_float(const Value& x) {
  return hlo_.convert(hlo(x), DType::kF32);
}

Value StableHloOps::rounded(const Hlo& x) {
  return make(hlo_.round(x, dtype_));
}

Hlo StableHloOps::over_features(ParamId id, const HloType& type) {
  const Hlo vector = parameter(id);
  const Hlo flat = hlo_.convert(hlo_.reshape(vector, {type.dims.back()}), DType::kF32);
  return hlo_.broadcast(flat, {static_cast<int64_t>(type.dims.size()) - 1}, type.dims);
}

Hlo StableHloOps::rank() {
  if (!rank_) rank_ = hlo_.replica_id();
  return *rank_;
}

Value StableHloOps::embedding(ParamId table, bool vocab_sharded) {
  const Hlo rows = parameter(table);
  Hlo ids = argument(Kind::kIds, 0, "ids", {DType::kI32, {shape_.rows, shape_.width}});
  if (!vocab_sharded || hlo_.replicas() == 1) return make(hlo_.gather_rows(rows, ids));
  const Hlo first = hlo_.binary("multiply", rank(), static_cast<double>(rows.dim(0)));
  ids = hlo_.binary("subtract", ids, hlo_.broadcast(first, {}, ids.type.dims));
  const Hlo zero = hlo_.constant(0, ids.type), last = hlo_.constant(static_cast<double>(rows.dim(0) - 1), ids.type);
  const Hlo own = hlo_.binary("and", hlo_.compare("GE", ids, zero), hlo_.compare("LE", ids, last));
  const Hlo found = hlo_.gather_rows(rows, hlo_.binary("minimum", hlo_.binary("maximum", ids, zero), last));
  return make(hlo_.select(hlo_.broadcast(own, {0, 1}, found.type.dims), found, hlo_.constant(0, found.type)));
}

Value StableHloOps::linear(const Value& x, ParamId weight, ParamId bias, bool float32_out) {
  Hlo y = hlo(linear_partial(x, weight));
  if (bias != kNoParam) y = hlo_.binary("add", y, over_features(bias, y.type));
  return float32_out ? make(y) : rounded(y);
}

Value StableHloOps::linear_partial(const Value& x, ParamId weight) {
  return make(multiply(hlo(x), this->weight(weight), {}, 2));
}

Value StableHloOps::norm(const Value& x, ParamId weight, ParamId bias, NormKind kind, double eps, int64_t group) {
  const std::vector<int64_t> whole = hlo(x).type.dims;
  const int64_t size = group == 0 ? whole[2] : group;
  const int64_t tokens = whole[0] * whole[1] * whole[2] / size;
  const ChosenKernel* kernel = kernel_for("norm", {{"kind", norm_form(table_, weight, bias, kind, size)},
                                                   {"tokens", std::to_string(tokens)},
                                                   {"size", std::to_string(size)},
                                                   {"dtype", std::string(torch_name(dtype_))},
                                                   {"eps", match_number(eps)}});
  if (kernel != nullptr) {
    const Hlo rows = hlo_.reshape(hlo(x), {tokens, size});
    const Hlo y = call_kernel(*kernel, "norm", {rows, hlo_.reshape(parameter(weight), {size})}, {rows.type})[0];
    return make(hlo_.reshape(y, whole));
  }
  const std::vector<int64_t> dims{whole[0], whole[1], whole[2] / size, size};
  Hlo y = hlo_.reshape(as_float(x), dims);
  const auto mean = [&](const Hlo& values) {
    const Hlo sum = hlo_.reduce("add", values, 3, 0);
    return hlo_.binary("divide", sum, static_cast<double>(size));
  };
  const auto over_groups = [&](const Hlo& per_group) { return hlo_.broadcast(per_group, {0, 1, 2}, dims); };
  const bool centred = kind == NormKind::kLayerNorm || kind == NormKind::kLayerNormOnePlus;
  const bool one_plus = kind == NormKind::kRmsOnePlus || kind == NormKind::kLayerNormOnePlus;
  if (centred) y = hlo_.binary("subtract", y, over_groups(mean(y)));
  const Hlo power = mean(hlo_.binary("multiply", y, y));
  y = hlo_.binary("multiply", y, over_groups(hlo_.unary("rsqrt", hlo_.binary("add", power, eps))));
  // One weight for all groups, or one per feature.
  const auto over_all = [&](ParamId id) {
    const Hlo vector = hlo_.convert(parameter(id), DType::kF32);
    if (table_.at(id).elements() == size) return hlo_.broadcast(hlo_.reshape(vector, {size}), {3}, dims);
    return hlo_.broadcast(hlo_.reshape(vector, {dims[2], size}), {2, 3}, dims);
  };
  if (weight != kNoParam) {
    const Hlo scale = over_all(weight);
    y = hlo_.binary("multiply", y, one_plus ? hlo_.binary("add", scale, 1.0) : scale);
  }
  if (bias != kNoParam) y = hlo_.binary("add", y, over_all(bias));
  return rounded(hlo_.reshape(y, whole));
}

Value StableHloOps::rope(const Value& x, int table, int64_t heads_local, int64_t head_dim) {
  const RopeConfig& rope = config_.ropes[static_cast<size_t>(table)];
  const int64_t half = rope.rotary_dim / 2;
  const std::vector<int64_t> whole = hlo(x).type.dims;
  const std::vector<int64_t> part{whole[0], whole[1], heads_local, half};
  const HloType angles{DType::kF32, {whole[0], whole[1], half}};
  const std::string suffix = config_.ropes.size() == 1 ? "" : std::to_string(table);
  const Hlo cos = hlo_.broadcast(argument(Kind::kCos, table, "cos" + suffix, angles), {0, 1, 3}, part);
  const Hlo sin = hlo_.broadcast(argument(Kind::kSin, table, "sin" + suffix, angles), {0, 1, 3}, part);
  const Hlo heads = hlo_.reshape(as_float(x), {whole[0], whole[1], heads_local, head_dim});
  const Hlo turned = hlo_.slice(heads, 3, 0, rope.rotary_dim);

  const bool interleaved = rope.layout == RopeLayout::kInterleaved;
  const Hlo a = interleaved ? hlo_.slice(turned, 3, 0, rope.rotary_dim, 2) : hlo_.slice(turned, 3, 0, half);
  const Hlo b = interleaved ? hlo_.slice(turned, 3, 1, rope.rotary_dim, 2) : hlo_.slice(turned, 3, half, rope.rotary_dim);
  const Hlo first = hlo_.binary("subtract", hlo_.binary("multiply", a, cos), hlo_.binary("multiply", b, sin));
  const Hlo second = hlo_.binary("add", hlo_.binary("multiply", b, cos), hlo_.binary("multiply", a, sin));
  Hlo out;
  if (interleaved) {
    const std::vector<int64_t> pairs{whole[0], whole[1], heads_local, half, 1};
    out = hlo_.concatenate({hlo_.reshape(first, pairs), hlo_.reshape(second, pairs)}, 4);
    out = hlo_.reshape(out, {whole[0], whole[1], heads_local, rope.rotary_dim});
  } else {
    out = hlo_.concatenate({first, second}, 3);
  }
  if (rope.rotary_dim < head_dim) out = hlo_.concatenate({out, hlo_.slice(heads, 3, rope.rotary_dim, head_dim)}, 3);
  return rounded(hlo_.reshape(out, whole));
}

Hlo StableHloOps::activated(const Hlo& x, Activation activation) {
  switch (activation) {
    case Activation::kSilu:
      return hlo_.binary("multiply", x, hlo_.unary("logistic", x));
    case Activation::kGelu: {
      const Hlo erf = hlo_.unary("erf", hlo_.binary("multiply", x, std::numbers::sqrt2 / 2));
      return hlo_.binary("multiply", hlo_.binary("multiply", x, 0.5), hlo_.binary("add", erf, 1.0));
    }
    case Activation::kGeluTanh: {
      const Hlo cube = hlo_.binary("multiply", hlo_.binary("multiply", x, x), x);
      const Hlo inner = hlo_.binary("add", x, hlo_.binary("multiply", cube, 0.044715));
      const Hlo tanh = hlo_.unary("tanh", hlo_.binary("multiply", inner, std::sqrt(2.0 / std::numbers::pi)));
      return hlo_.binary("multiply", hlo_.binary("multiply", x, 0.5), hlo_.binary("add", tanh, 1.0));
    }
    case Activation::kRelu:
      return hlo_.binary("maximum", x, 0.0);
    case Activation::kRelu2: {
      const Hlo relu = hlo_.binary("maximum", x, 0.0);
      return hlo_.binary("multiply", relu, relu);
    }
    case Activation::kSigmoid:
      return hlo_.unary("logistic", x);
    case Activation::kQuickGelu:
      return hlo_.binary("multiply", x, hlo_.unary("logistic", hlo_.binary("multiply", x, 1.702)));
  }
  return x;
}

Value StableHloOps::gated_activation(const Value& gate, const Value& up, Activation activation) {
  return rounded(hlo_.binary("multiply", activated(as_float(gate), activation), as_float(up)));
}

Value StableHloOps::activation(const Value& x, Activation activation) {
  return rounded(activated(as_float(x), activation));
}

Value StableHloOps::xielu(const Value& x, ParamId positive, ParamId negative) {
  const Hlo value = as_float(x);
  const auto softplus = [&](ParamId id) {
    const Hlo learned = hlo_.convert(hlo_.reshape(parameter(id), {}), DType::kF32);
    return hlo_.unary("log_plus_one", hlo_.unary("exponential", learned));
  };
  const auto everywhere = [&](const Hlo& scalar) { return hlo_.broadcast(scalar, {}, value.type.dims); };
  const Hlo above = hlo_.binary("multiply", hlo_.binary("multiply", value, value), everywhere(softplus(positive)));
  const Hlo power = hlo_.unary("exponential_minus_one", hlo_.binary("minimum", value, kXieluEps));
  const Hlo slope = everywhere(hlo_.binary("add", softplus(negative), kXieluBeta));
  const Hlo below = hlo_.binary("multiply", hlo_.binary("subtract", power, value), slope);
  const Hlo bent = hlo_.select(hlo_.compare("GT", value, hlo_.constant(0, value.type)), above, below);
  return rounded(hlo_.binary("add", bent, hlo_.binary("multiply", value, kXieluBeta)));
}

Value StableHloOps::sigmoid_gate(const Value& x, const Value& gate) {
  const Hlo value = as_float(x);
  const Hlo factor = hlo_.reshape(hlo_.unary("logistic", as_float(gate)), {value.dim(0), value.dim(1)});
  return rounded(hlo_.binary("multiply", value, hlo_.broadcast(factor, {0, 1}, value.type.dims)));
}

Value StableHloOps::add(const Value& a, const Value& b) {
  return rounded(hlo_.binary("add", as_float(a), as_float(b)));
}

Value StableHloOps::scale(const Value& x, double factor) {
  return make(hlo_.round(hlo_.binary("multiply", as_float(x), factor), hlo(x).type.dtype));
}

Value StableHloOps::softcap(const Value& x, double cap) {
  const Hlo tanh = hlo_.unary("tanh", hlo_.binary("divide", as_float(x), cap));
  return make(hlo_.round(hlo_.binary("multiply", tanh, cap), hlo(x).type.dtype));
}

Value StableHloOps::clamp(const Value& x, double low, double high) {
  return make(hlo_.binary("minimum", hlo_.binary("maximum", hlo(x), low), high));
}

Value StableHloOps::slice_features(const Value& x, int64_t begin, int64_t size) {
  return make(hlo_.slice(hlo(x), 2, begin, begin + size));
}

Value StableHloOps::slice_heads(const Value& x, int64_t heads, int64_t begin, int64_t size) {
  const std::vector<int64_t>& dims = hlo(x).type.dims;
  const Hlo by_head = hlo_.reshape(hlo(x), {dims[0], dims[1], heads, dims[2] / heads});
  return make(hlo_.reshape(hlo_.slice(by_head, 3, begin, begin + size), {dims[0], dims[1], heads * size}));
}

Value StableHloOps::concat_heads(const Value& a, const Value& b, int64_t heads, bool shared) {
  const std::vector<int64_t>& dims = hlo(a).type.dims;
  const int64_t first = dims[2] / heads, second = hlo(b).dim(2) / (shared ? 1 : heads);
  const std::vector<int64_t> second_dims{dims[0], dims[1], heads, second};
  const Hlo tail = shared ? hlo_.broadcast(hlo(b), {0, 1, 3}, second_dims) : hlo_.reshape(hlo(b), second_dims);
  const Hlo joined = hlo_.concatenate({hlo_.reshape(hlo(a), {dims[0], dims[1], heads, first}), tail}, 3);
  return make(hlo_.reshape(joined, {dims[0], dims[1], heads * (first + second)}));
}

Value StableHloOps::last_position(const Value& x) {
  if (shape_.width == 1) return x;
  std::vector<Hlo> rows;
  const Hlo zero = hlo_.constant(0, {DType::kI32, {}});
  for (int64_t row = 0; row < shape_.rows; ++row) {
    const Hlo last = hlo_.binary("subtract", row_scalar(Kind::kLength, "length", row), 1.0);
    rows.push_back(hlo_.dynamic_slice(hlo_.slice(hlo(x), 0, row, row + 1), {zero, last, zero}, {1, 1, hlo(x).dim(2)}));
  }
  return make(rows.size() == 1 ? rows[0] : hlo_.concatenate(rows, 0));
}

Value StableHloOps::all_reduce(const Value& partial, ParamId bias) {
  Hlo sum = as_float(partial);
  if (hlo_.replicas() > 1) sum = hlo_.all_reduce(sum);
  if (bias != kNoParam) sum = hlo_.binary("add", sum, over_features(bias, sum.type));
  return rounded(sum);
}

Value StableHloOps::all_gather(const Value& x, int64_t features) {
  const Hlo whole = hlo_.replicas() > 1 ? hlo_.all_gather(hlo(x), 2) : hlo(x);
  return make(hlo_.slice(whole, 2, 0, features));
}

Value StableHloOps::local_part(const Value& x, int64_t features_local) {
  if (hlo_.replicas() == 1) return x;
  const Hlo padded = hlo_.pad(hlo(x), 2, 0, features_local * hlo_.replicas() - hlo(x).dim(2));
  const Hlo zero = hlo_.constant(0, {DType::kI32, {}});
  const Hlo begin = hlo_.binary("multiply", rank(), static_cast<double>(features_local));
  return make(hlo_.dynamic_slice(padded, {zero, zero, begin}, {padded.dim(0), padded.dim(1), features_local}));
}

Value StableHloOps::input(const HloType& type) {
  const int index = values_++;
  return make(argument(Kind::kValue, index, "x" + std::to_string(index), type));
}

HloProgram StableHloOps::finish(const std::string& name, const Value& result) const {
  HloProgram program{.name = name,
                     .inputs = inputs_,
                     .result = hlo(result).type,
                     .collectives = hlo_.collectives(),
                     .kernel_calls = kernel_calls_};
  std::vector<Hlo> results{hlo(result)};
  std::vector<int> aliases(inputs_.size(), -1);
  for (const auto& [input, value] : caches_) {
    const auto at = std::find_if(inputs_.begin(), inputs_.end(), [&](const HloInput& candidate) {
      return candidate.kind == input.kind && candidate.index == input.index;
    });
    aliases[static_cast<size_t>(at - inputs_.begin())] = static_cast<int>(results.size());
    results.push_back(value);
    program.caches.push_back(input);
  }
  program.text = hlo_.module(name, results, aliases);
  return program;
}

}  // namespace tp
