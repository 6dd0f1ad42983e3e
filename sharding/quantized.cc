#include "sharding/quantized.h"

#include <array>
#include <utility>

#include "sharding/error.h"

namespace tp {
namespace {

// What the name of a tensor ends in when a method has written it.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kEndings = {{
    {".qweight", "GPTQ or AWQ"},
    {".qzeros", "GPTQ or AWQ"},
    {".g_idx", "GPTQ"},
    {".weight_packed", "compressed-tensors"},
    {".weight_scale", "compressed-tensors or FP8"},
    {".weight_scale_inv", "FP8"},
    {".weight.absmax", "bitsandbytes"},
    {".weight.quant_map", "bitsandbytes"},
    {".SCB", "bitsandbytes"},
    {"_blocks", "MXFP4"},
    {"_scales", "MXFP4"},
    {".scales", "AWQ, GPTQ or MLX"},
}};

}  // namespace

void refuse_quantized_tensors(const Checkpoint& checkpoint) {
  for (const auto& [name, stored] : checkpoint.tensors) {
    std::string method;
    for (const auto& [ending, written_by] : kEndings) {
      if (method.empty() && name.ends_with(ending)) method = written_by;
    }
    const DType dtype = stored.entry.dtype;
    if (method.empty() && (dtype == DType::kF8E4M3 || dtype == DType::kF8E5M2)) method = "FP8";
    if (method.empty()) continue;
    throw Error(checkpoint.dir.string(),
                "the checkpoint is quantized (" + method + ": tensor `" + name + "`), which is not supported",
                "use the checkpoint in bfloat16, float16 or float32");
  }
}

}  // namespace tp
