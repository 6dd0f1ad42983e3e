#include <cstdint>
#include <string_view>

#include "sharding/error.h"
#include "sharding/parameters.h"

// A config.json either gives a model whose module tree can be made or is refused with an Error.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    tp::module_tree(tp::parse_model_config({reinterpret_cast<const char*>(data), size}, "config.json"));
  } catch (const tp::Error&) {
  }
  return 0;
}
