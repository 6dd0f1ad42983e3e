#include "runtime/jinja/loop_value.h"

#include "runtime/jinja/operators.h"

namespace tp::jinja {

Value loop_value(const List& items, size_t index, int64_t depth, const std::shared_ptr<std::optional<Value>>& previous) {
  const auto size = static_cast<int64_t>(items.size());
  const auto at = static_cast<int64_t>(index);
  Dict loop;
  loop.items = {{"index", at + 1},
                {"index0", at},
                {"revindex", size - at},
                {"revindex0", size - at - 1},
                {"first", at == 0},
                {"last", at == size - 1},
                {"length", size},
                {"depth", depth},
                {"depth0", depth - 1},
                {"previtem", at > 0 ? items[index - 1] : Value(Undefined{"there is no previous item"})},
                {"nextitem", at + 1 < size ? items[index + 1] : Value(Undefined{"there is no next item"})}};
  loop.set("cycle", Function{"cycle", [index](const Arguments& arguments) {
                               if (arguments.positional.empty()) throw Fault{"no items for cycling given"};
                               return arguments.positional[index % arguments.positional.size()];
                             }});
  // What it remembers may be the loop itself.
  const std::weak_ptr<std::optional<Value>> remembered = previous;
  loop.set("changed", Function{"changed", [remembered](const Arguments& arguments) {
                                 const auto last = remembered.lock();
                                 const Value now(arguments.positional);
                                 const bool changed = !last || !last->has_value() || !equal(**last, now);
                                 if (last) *last = now;
                                 return Value(changed);
                               }});
  return Value::name_space(std::move(loop));
}

}  // namespace tp::jinja
