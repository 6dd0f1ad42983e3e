#include "runtime/hlo_builder.h"

#include <cstdio>
#include <limits>
#include <stdexcept>

namespace tp {
namespace {

const char* element_name(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return "f64";
    case DType::kF32:
      return "f32";
    case DType::kF16:
      return "f16";
    case DType::kBF16:
      return "bf16";
    case DType::kI64:
      return "i64";
    case DType::kI32:
      return "i32";
    case DType::kI8:
      return "i8";
    case DType::kBool:
      return "i1";
    default:
      throw std::logic_error("no program uses this element type");
  }
}

bool is_integer(DType dtype) {
  return dtype == DType::kI32 || dtype == DType::kI64;
}

template <class Items, class Text>
std::string joined(const Items& items, Text text) {
  std::string out;
  for (const auto& item : items) out += (out.empty() ? "" : ", ") + text(item);
  return out;
}

std::string list(const std::vector<int64_t>& numbers) {
  return "[" + joined(numbers, [](int64_t n) { return std::to_string(n); }) + "]";
}

std::string number_text(double value, DType dtype) {
  if (dtype == DType::kBool) return value != 0 ? "true" : "false";
  if (is_integer(dtype)) return std::to_string(static_cast<int64_t>(value));
  if (value == -std::numeric_limits<double>::infinity()) return "0xFF800000";  // float32's bits
  char text[32];
  std::snprintf(text, sizeof(text), "%.9e", value);
  return text;
}

}  // namespace

std::string HloType::text() const {
  std::string out = "tensor<";
  for (int64_t dim : dims) out += std::to_string(dim) + "x";
  return out + (int4 ? "i4" : element_name(dtype)) + ">";
}

int64_t HloType::size_bytes() const {
  int64_t bytes = tp::size_bytes(dtype);
  for (int64_t dim : dims) bytes *= dim;
  return int4 ? (bytes + 1) / 2 : bytes;
}

Hlo HloBuilder::emit(const std::string& operation, HloType type) {
  Hlo result("%" + std::to_string(next_++), std::move(type));
  body_ += "    " + result.name + " = " + operation + "\n";
  return result;
}

void HloBuilder::comment(const std::string& text) {
  body_ += "    // " + text + "\n";
}

Hlo HloBuilder::argument(const std::string& name, const HloType& type) {
  return arguments_.emplace_back("%" + name, type);
}

Hlo HloBuilder::constant(double value, const HloType& type) {
  const std::string text = "stablehlo.constant dense<" + number_text(value, type.dtype) + "> : " + type.text();
  const auto found = known_constants_.find(text);
  if (found != known_constants_.end()) return found->second;
  const Hlo result("%c" + std::to_string(known_constants_.size()), type);
  constants_ += "    " + result.name + " = " + text + "\n";
  return known_constants_[text] = result;
}

Hlo HloBuilder::iota(const HloType& type, int64_t dim) {
  return emit("stablehlo.iota dim = " + std::to_string(dim) + " : " + type.text(), type);
}

Hlo HloBuilder::replica_id() {
  Hlo id = emit("stablehlo.replica_id : tensor<ui32>", {DType::kI32, {}});
  return emit("stablehlo.convert " + id.name + " : (tensor<ui32>) -> tensor<i32>", {DType::kI32, {}});
}

Hlo HloBuilder::unary(const char* operation, const Hlo& x) {
  // The error function is not StableHLO's own; every plugin knows the dialect that has it.
  if (std::string(operation) == "erf")
    return emit("chlo.erf " + x.name + " : " + x.type.text() + " -> " + x.type.text(), x.type);
  return emit(std::string("stablehlo.") + operation + " " + x.name + " : " + x.type.text(), x.type);
}

Hlo HloBuilder::binary(const char* operation, const Hlo& a, const Hlo& b) {
  if (a.type != b.type) throw std::logic_error(std::string(operation) + " of " + a.type.text() + " and " + b.type.text());
  return emit(std::string("stablehlo.") + operation + " " + a.name + ", " + b.name + " : " + a.type.text(), a.type);
}

Hlo HloBuilder::binary(const char* operation, const Hlo& a, double b) {
  return binary(operation, a, constant(b, a.type));
}

Hlo HloBuilder::compare(const char* direction, const Hlo& a, const Hlo& b) {
  const HloType type{DType::kBool, a.type.dims};
  return emit(std::string("stablehlo.compare ") + direction + ", " + a.name + ", " + b.name + " : (" + a.type.text() + ", " +
                  b.type.text() + ") -> " + type.text(),
              type);
}

Hlo HloBuilder::select(const Hlo& predicate, const Hlo& yes, const Hlo& no) {
  return emit("stablehlo.select " + predicate.name + ", " + yes.name + ", " + no.name + " : " + predicate.type.text() + ", " +
                  yes.type.text(),
              yes.type);
}

Hlo HloBuilder::convert(const Hlo& x, DType dtype) {
  if (x.type.dtype == dtype) return x;
  const HloType type{dtype, x.type.dims};
  return emit("stablehlo.convert " + x.name + " : (" + x.type.text() + ") -> " + type.text(), type);
}

Hlo HloBuilder::round(const Hlo& x, DType dtype) {
  if (x.type.dtype == dtype) return x;
  const char* format = dtype == DType::kBF16 ? "e8m7" : "e5m10";
  return convert(emit("stablehlo.reduce_precision " + x.name + ", format = " + format + " : " + x.type.text(), x.type), dtype);
}

Hlo HloBuilder::reshape(const Hlo& x, const std::vector<int64_t>& dims) {
  if (x.type.dims == dims) return x;
  const HloType type{x.type.dtype, dims};
  return emit("stablehlo.reshape " + x.name + " : (" + x.type.text() + ") -> " + type.text(), type);
}

Hlo HloBuilder::transpose(const Hlo& x, const std::vector<int64_t>& order) {
  HloType type{x.type.dtype, {}};
  for (int64_t dim : order) type.dims.push_back(x.dim(static_cast<size_t>(dim)));
  return emit("stablehlo.transpose " + x.name + ", dims = " + list(order) + " : (" + x.type.text() + ") -> " + type.text(),
              type);
}

Hlo HloBuilder::broadcast(const Hlo& x, const std::vector<int64_t>& to, const std::vector<int64_t>& dims) {
  const HloType type{x.type.dtype, dims};
  return emit("stablehlo.broadcast_in_dim " + x.name + ", dims = " + list(to) + " : (" + x.type.text() + ") -> " + type.text(),
              type);
}

Hlo HloBuilder::slice(const Hlo& x, size_t dim, int64_t begin, int64_t end, int64_t stride) {
  if (begin == 0 && end == x.dim(dim) && stride == 1) return x;
  HloType type = x.type;
  type.dims[dim] = (end - begin + stride - 1) / stride;
  std::string ranges;
  for (size_t d = 0; d < x.type.dims.size(); ++d) {
    ranges += d == 0 ? "" : ", ";
    if (d == dim) {
      ranges += std::to_string(begin) + ":" + std::to_string(end) + (stride == 1 ? "" : ":" + std::to_string(stride));
    } else {
      ranges += "0:" + std::to_string(x.dim(d));
    }
  }
  return emit("stablehlo.slice " + x.name + " [" + ranges + "] : (" + x.type.text() + ") -> " + type.text(), type);
}

Hlo HloBuilder::concatenate(const std::vector<Hlo>& parts, size_t dim) {
  HloType type = parts.front().type;
  type.dims[dim] = 0;
  for (const Hlo& part : parts) type.dims[dim] += part.dim(dim);
  return emit("stablehlo.concatenate " + joined(parts, [](const Hlo& part) { return part.name; }) +
                  ", dim = " + std::to_string(dim) + " : (" + joined(parts, [](const Hlo& part) { return part.type.text(); }) +
                  ") -> " + type.text(),
              type);
}

Hlo HloBuilder::pad(const Hlo& x, size_t dim, int64_t before, int64_t after) {
  if (before == 0 && after == 0) return x;
  HloType type = x.type;
  type.dims[dim] += before + after;
  std::vector<int64_t> low(x.type.dims.size()), high(x.type.dims.size()), interior(x.type.dims.size());
  low[dim] = before;
  high[dim] = after;
  const HloType scalar{x.type.dtype, {}};
  return emit("stablehlo.pad " + x.name + ", " + constant(0, scalar).name + ", low = " + list(low) + ", high = " + list(high) +
                  ", interior = " + list(interior) + " : (" + x.type.text() + ", " + scalar.text() + ") -> " + type.text(),
              type);
}

Hlo HloBuilder::reduce(const char* operation, const Hlo& x, size_t dim, double initial) {
  const HloType scalar{x.type.dtype, {}};
  const Hlo from = constant(initial, scalar);
  HloType type = x.type;
  type.dims.erase(type.dims.begin() + static_cast<std::ptrdiff_t>(dim));
  return emit("stablehlo.reduce(" + x.name + " init: " + from.name + ") applies stablehlo." + operation +
                  " across dimensions = [" + std::to_string(dim) + "] : (" + x.type.text() + ", " + scalar.text() + ") -> " +
                  type.text(),
              type);
}

Hlo HloBuilder::dot(const Hlo& x, const Hlo& y, const std::vector<int64_t>& x_batch, const std::vector<int64_t>& y_batch,
                    int64_t x_dim, int64_t y_dim, DType result) {
  HloType type{result, {}};
  for (int64_t dim : x_batch) type.dims.push_back(x.dim(static_cast<size_t>(dim)));
  const auto add_free = [&](const Hlo& operand, const std::vector<int64_t>& batch, int64_t contracted) {
    for (int64_t dim = 0; dim < static_cast<int64_t>(operand.type.dims.size()); ++dim) {
      bool free = dim != contracted;
      for (int64_t b : batch) free = free && dim != b;
      if (free) type.dims.push_back(operand.dim(static_cast<size_t>(dim)));
    }
  };
  add_free(x, x_batch, x_dim);
  add_free(y, y_batch, y_dim);
  std::string text = "stablehlo.dot_general " + x.name + ", " + y.name;
  if (!x_batch.empty()) text += ", batching_dims = " + list(x_batch) + " x " + list(y_batch);
  text += ", contracting_dims = [" + std::to_string(x_dim) + "] x [" + std::to_string(y_dim) + "]";
  // A TPU multiplies float32 in bfloat16 unless told otherwise.
  if (x.type.dtype == DType::kF32) text += ", precision = [HIGHEST, HIGHEST]";
  return emit(text + " : (" + x.type.text() + ", " + y.type.text() + ") -> " + type.text(), type);
}

Hlo HloBuilder::gather_rows(const Hlo& table, const Hlo& indices) {
  HloType type{table.type.dtype, indices.type.dims, table.type.int4};
  const auto index_dims = static_cast<int64_t>(indices.type.dims.size());
  std::vector<int64_t> offset_dims;
  std::string sizes = "1";
  for (size_t i = 1; i < table.type.dims.size(); ++i) {
    offset_dims.push_back(static_cast<int64_t>(type.dims.size()));
    type.dims.push_back(table.dim(i));
    sizes += ", " + std::to_string(table.dim(i));
  }
  return emit("\"stablehlo.gather\"(" + table.name + ", " + indices.name +
                  ") {dimension_numbers = #stablehlo.gather<offset_dims = " + list(offset_dims) +
                  ", collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = " + std::to_string(index_dims) +
                  ">, indices_are_sorted = false, slice_sizes = array<i64: " + sizes + ">} : (" + table.type.text() + ", " +
                  indices.type.text() + ") -> " + type.text(),
              type);
}

Hlo HloBuilder::dynamic_slice(const Hlo& x, const std::vector<Hlo>& starts, const std::vector<int64_t>& sizes) {
  const HloType type{x.type.dtype, sizes};
  return emit("stablehlo.dynamic_slice " + x.name + ", " + joined(starts, [](const Hlo& start) { return start.name; }) +
                  ", sizes = " + list(sizes) + " : (" + x.type.text() + ", " +
                  joined(starts, [](const Hlo& start) { return start.type.text(); }) + ") -> " + type.text(),
              type);
}

Hlo HloBuilder::dynamic_update_slice(const Hlo& x, const Hlo& update, const std::vector<Hlo>& starts) {
  return emit("stablehlo.dynamic_update_slice " + x.name + ", " + update.name + ", " +
                  joined(starts, [](const Hlo& start) { return start.name; }) + " : (" + x.type.text() + ", " +
                  update.type.text() + ", " + joined(starts, [](const Hlo& start) { return start.type.text(); }) + ") -> " +
                  x.type.text(),
              x.type);
}

std::string HloBuilder::replica_groups() const {
  std::vector<int64_t> ranks;
  for (int r = 0; r < replicas_; ++r) ranks.push_back(r);
  return "replica_groups = dense<[" + list(ranks) + "]> : tensor<1x" + std::to_string(replicas_) + "xi64>";
}

Hlo HloBuilder::all_reduce(const Hlo& x) {
  HloCollective& total = collectives_["all_reduce"];
  total.count += 1;
  total.bytes += x.type.size_bytes();
  const std::string scalar = HloType{x.type.dtype, {}}.text();
  const std::string region = "({\n      ^bb0(%a: " + scalar + ", %b: " + scalar +
                             "):\n        %s = stablehlo.add %a, %b : " + scalar + "\n        stablehlo.return %s : " + scalar +
                             "\n    })";
  return emit("\"stablehlo.all_reduce\"(" + x.name + ") " + region + " {" + replica_groups() + "} : (" + x.type.text() +
                  ") -> " + x.type.text(),
              x.type);
}

Hlo HloBuilder::all_gather(const Hlo& x, size_t dim) {
  HloType type = x.type;
  type.dims[dim] *= replicas_;
  HloCollective& total = collectives_["all_gather"];
  total.count += 1;
  total.bytes += type.size_bytes();
  return emit("\"stablehlo.all_gather\"(" + x.name + ") {all_gather_dim = " + std::to_string(dim) + " : i64, " +
                  replica_groups() + "} : (" + x.type.text() + ") -> " + type.text(),
              type);
}

std::vector<Hlo> HloBuilder::call(const std::string& symbol, const std::string& text, const std::vector<Hlo>& operands,
                                  const std::vector<HloType>& results) {
  functions_.emplace(symbol, text);
  const std::string call = "func.call @" + symbol + "(" + joined(operands, [](const Hlo& operand) { return operand.name; }) +
                           ") : (" + joined(operands, [](const Hlo& operand) { return operand.type.text(); }) + ") -> ";
  if (results.size() == 1) return {emit(call + results[0].text(), results[0])};
  const std::string name = "%" + std::to_string(next_++);
  body_ += "    " + name + ":" + std::to_string(results.size()) + " = " + call + "(" +
           joined(results, [](const HloType& type) { return type.text(); }) + ")\n";
  std::vector<Hlo> values;
  for (size_t i = 0; i < results.size(); ++i) values.emplace_back(name + "#" + std::to_string(i), results[i]);
  return values;
}

std::string HloBuilder::module(const std::string& name, const std::vector<Hlo>& results,
                               const std::vector<int>& aliases) const {
  std::string out = "module @" + name + " attributes {mhlo.num_replicas = " + std::to_string(replicas_) +
                    " : i32, mhlo.num_partitions = 1 : i32} {\n  func.func public @main(\n";
  for (size_t i = 0; i < arguments_.size(); ++i) {
    out += "      " + arguments_[i].name + ": " + arguments_[i].type.text();
    if (aliases[i] >= 0) out += " {tf.aliasing_output = " + std::to_string(aliases[i]) + " : i32}";
    out += i + 1 < arguments_.size() ? ",\n" : "\n";
  }
  const std::string types = joined(results, [](const Hlo& result) { return result.type.text(); });
  std::string functions;
  for (const auto& [symbol, text] : functions_) functions += text;
  return out + "  ) -> (" + types + ") {\n" + constants_ + body_ + "    return " +
         joined(results, [](const Hlo& result) { return result.name; }) + " : " + types + "\n  }\n" + functions + "}\n";
}

}  // namespace tp
