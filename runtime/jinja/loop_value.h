#pragma once

#include <memory>
#include <optional>

#include "runtime/jinja/value.h"

namespace tp::jinja {

// What the body of a loop over `items` sees as `loop` in the round of items[index]; `depth` counts loops in one another from 1.
// `previous` is shared by the rounds, for loop.changed().
Value loop_value(const List& items, size_t index, int64_t depth, const std::shared_ptr<std::optional<Value>>& previous);

}  // namespace tp::jinja
