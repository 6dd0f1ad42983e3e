#pragma once

#include <cstdint>
#include <vector>

#include "runtime/parameter_table.h"
#include "sharding/checkpoint.h"

namespace tp {

// A rectangle of a stored tensor that a rank takes, and its place in the local parameter seen as [experts, rows, columns] (a
// vector is one row), before Parameter::transposed. All in elements.
struct StoredBlock {
  const StoredTensor* tensor = nullptr;
  int64_t offset = 0;  // of its first element in the tensor
  int64_t stride = 0;  // from row to row in the tensor
  int64_t rows = 0, columns = 0;
  int64_t expert = 0, row = 0, column = 0;
};

// Everything that a rank takes of one parameter, in the order in which it lies in memory. Padding is what no block covers.
// Throws Error when the parameter is not stored.
std::vector<StoredBlock> stored_blocks(const Parameter& parameter, const Checkpoint& checkpoint);

// [experts, rows, columns] of a shape of up to three dimensions.
struct Extents {
  int64_t experts = 1, rows = 1, columns = 1;
};
Extents extents(const std::vector<int64_t>& shape);

}  // namespace tp
