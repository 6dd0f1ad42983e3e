#pragma once

#include <string>
#include <string_view>

#include "sharding/checkpoint.h"

namespace tp {

// Refuses a checkpoint whose tensors are those of a quantization method (AWQ, GPTQ, FP8, bitsandbytes, compressed-tensors),
// naming the method and one of the tensors, whatever its config.json says.
void refuse_quantized_tensors(const Checkpoint& checkpoint);

}  // namespace tp
