#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/ops.h"
#include "sharding/dtype.h"

namespace tp {

struct HloType {
  DType dtype = DType::kF32;
  std::vector<int64_t> dims;
  // Integers from -8 to 7, two in a byte; dtype is kI8, which is what a host has for each of them.
  bool int4 = false;

  std::string text() const;  // "tensor<2x3xbf16>"
  int64_t size_bytes() const;
  bool operator==(const HloType&) const = default;
};

// A value of a StableHLO program: its SSA name and type.
struct Hlo : ValueRep {
  Hlo() = default;
  Hlo(std::string name_, HloType type_) : name(std::move(name_)), type(std::move(type_)) {}
  std::string name;
  HloType type;

  int64_t dim(size_t i) const { return type.dims[i]; }
};

struct HloCollective {
  int64_t count = 0;
  int64_t bytes = 0;  // an all_reduce's operand, an all_gather's result
};

// Writes the body of one StableHLO function, operation by operation, and knows every result's type. The same calls give the
// same text. All dimensions are static.
class HloBuilder {
 public:
  explicit HloBuilder(int replicas) : replicas_(replicas) {}

  int replicas() const { return replicas_; }
  // A line of its own in the text, for readers.
  void comment(const std::string& text);

  // A parameter of the function, after those that exist.
  Hlo argument(const std::string& name, const HloType& type);
  Hlo constant(double value, const HloType& type);  // all elements alike
  Hlo iota(const HloType& type, int64_t dim);
  Hlo replica_id();  // int32 scalar

  Hlo unary(const char* operation, const Hlo& x);                 // "negate", "exponential", …
  Hlo binary(const char* operation, const Hlo& a, const Hlo& b);  // of equal types
  Hlo binary(const char* operation, const Hlo& a, double b);
  Hlo compare(const char* direction, const Hlo& a, const Hlo& b);  // "LT", "LE", "GT", …
  Hlo select(const Hlo& predicate, const Hlo& yes, const Hlo& no);
  Hlo convert(const Hlo& x, DType dtype);
  // As convert, from float32: really rounds, where a compiler might keep more bits over a pair of conversions.
  Hlo round(const Hlo& x, DType dtype);

  Hlo reshape(const Hlo& x, const std::vector<int64_t>& dims);
  Hlo transpose(const Hlo& x, const std::vector<int64_t>& order);
  // Dimension i of x becomes dimension `to[i]` of the result; the others repeat.
  Hlo broadcast(const Hlo& x, const std::vector<int64_t>& to, const std::vector<int64_t>& dims);
  Hlo slice(const Hlo& x, size_t dim, int64_t begin, int64_t end, int64_t stride = 1);
  Hlo concatenate(const std::vector<Hlo>& parts, size_t dim);
  // Zeros before and after, along one dimension.
  Hlo pad(const Hlo& x, size_t dim, int64_t before, int64_t after);
  Hlo reduce(const char* operation, const Hlo& x, size_t dim, double initial);
  // Batch dimensions come first in the result, then x's free ones, then y's. Float32 operands are multiplied in full precision.
  Hlo dot(const Hlo& x, const Hlo& y, const std::vector<int64_t>& x_batch, const std::vector<int64_t>& y_batch, int64_t x_dim,
          int64_t y_dim, DType result);
  // Rows of a [rows, ...] table: indices [a, b] -> [a, b, ...]. Indices must be in range.
  Hlo gather_rows(const Hlo& table, const Hlo& indices);
  // `starts` are int32 scalars; out of range ones are moved into it.
  Hlo dynamic_slice(const Hlo& x, const std::vector<Hlo>& starts, const std::vector<int64_t>& sizes);
  Hlo dynamic_update_slice(const Hlo& x, const Hlo& update, const std::vector<Hlo>& starts);

  Hlo all_reduce(const Hlo& x);
  Hlo all_gather(const Hlo& x, size_t dim);

  // Calls a function that comes with its text, all of it private functions; the text is put into the module once.
  std::vector<Hlo> call(const std::string& symbol, const std::string& text, const std::vector<Hlo>& operands,
                        const std::vector<HloType>& results);

  // The whole module. aliases[i] = index of the result that takes over argument i's memory, -1 = none.
  std::string module(const std::string& name, const std::vector<Hlo>& results, const std::vector<int>& aliases) const;
  const std::map<std::string, HloCollective>& collectives() const { return collectives_; }

 private:
  Hlo emit(const std::string& operation, HloType type);
  std::string replica_groups() const;

  int replicas_;
  int next_ = 0;
  std::vector<Hlo> arguments_;
  std::string constants_, body_;
  std::map<std::string, Hlo> known_constants_;
  std::map<std::string, HloCollective> collectives_;
  std::map<std::string, std::string> functions_;  // text by the symbol that is called
};

}  // namespace tp
