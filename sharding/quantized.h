#pragma once

#include "sharding/checkpoint.h"
#include "sharding/stored_format.h"

namespace tp {

// Puts one weight [out, in] (StoredTensor::quantized) in the place of the tensors that the method of `formats` has stored for
// it: `a.weight` for `a.weight_packed`, `a.weight_scale`, … What says how activations would be quantized is dropped. Throws an
// Error for each tensor that is missing or has another shape or dtype than its format makes it, by its name.
void gather_quantized(Checkpoint& checkpoint, const std::vector<StoredFormat>& formats);

// Refuses a checkpoint that still has tensors of a quantization method (also bitsandbytes, MXFP4, MLX), naming the method and
// one of the tensors.
void refuse_quantized_tensors(const Checkpoint& checkpoint);

// Reads the scales of all quantized weights, and GPTQ's group indices. Throws an Error, by the tensor's name, for a scale that
// is NaN, infinite or negative and for an order of groups other than that of the inputs (act-order). A negative scale is right
// where a compressed-tensors grid is symmetric, int4: it puts the sixteenth value on the other side.
void check_scales(const Checkpoint& checkpoint);

}  // namespace tp
