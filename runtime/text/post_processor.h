#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/text/json_node.h"

namespace tp {

// Puts special tokens around the ids of a text.
class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  virtual void apply(std::vector<int32_t>& ids, bool add_special) const = 0;
};

// `node` is tokenizer.json's "post_processor". Throws Error for a type that is not supported.
std::unique_ptr<PostProcessor> read_post_processor(const JsonNode& node);

}  // namespace tp
