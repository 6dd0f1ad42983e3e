#pragma once

#include <functional>
#include <vector>

#include "runtime/cpu/packed_linear.h"
#include "runtime/parameter_table.h"
#include "sharding/checkpoint.h"
#include "sharding/mapped_file.h"

namespace tp {

// The linear weights of one rank as the CPU's kernels read them: one product for each set of joined_linears, one for every
// other linear weight, one for each expert.
class PackedWeights {
 public:
  // Packs straight from the mapped files: what is stored quantized as it is or widened, the others converted to `dtype` or
  // quantized (Parameter::kind); pages are let go once they were read. `packed` is told which parameters are done, one product
  // at a time. Throws Error for a tensor that is not stored, or cannot be quantized as it has numbers that are not finite.
  static PackedWeights pack(const ParameterTable& table, const Checkpoint& checkpoint, const std::vector<MappedFile>& files,
                            DType dtype, cpu::ThreadPool& pool, const std::function<void(const std::vector<ParamId>&)>& packed);

  // Where parameter `id` (of experts: local expert `expert`) is computed: outputs [out_begin(id), + its rows) of that product.
  const cpu::PackedLinear& product(ParamId id, int64_t expert = 0) const {
    return products_[static_cast<size_t>(places_[static_cast<size_t>(id)].product + expert)];
  }
  int64_t out_begin(ParamId id) const { return places_[static_cast<size_t>(id)].out_begin; }

 private:
  struct Place {
    int64_t product = -1, out_begin = 0;
  };

  std::vector<Place> places_;  // by ParamId
  cpu::HugePages pages_;       // of all products
  std::vector<cpu::PackedLinear> products_;
};

}  // namespace tp
