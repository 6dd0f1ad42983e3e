#include <ctime>

#include "runtime/jinja/builtins.h"

namespace tp::jinja {
namespace {

constexpr int64_t kLongestRange = 100'000;  // as Jinja's sandbox

Value range(const Arguments& arguments) {
  const auto whole = [&](size_t index) {
    const Value& value = needed(arguments, index, "");
    if (!value.is_int() && !value.is_bool())
      throw Fault{"'" + type_name(value) + "' object cannot be interpreted as an integer"};
    return value.integer();
  };
  const bool one = arguments.positional.size() < 2;
  const int64_t begin = one ? 0 : whole(0), end = whole(one ? 0 : 1);
  const int64_t step = arguments.positional.size() > 2 ? whole(2) : 1;
  if (step == 0) throw Fault{"range() arg 3 must not be zero"};
  List items;
  for (int64_t i = begin; step > 0 ? i < end : i > end;) {
    if (static_cast<int64_t>(items.size()) == kLongestRange)
      throw Fault{"Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000)."};
    items.emplace_back(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return items;
}

Dict named_arguments(const Arguments& arguments) {
  Dict dict;
  for (const Value& given : arguments.positional) {
    if (!given.is_dict()) throw Fault{"expected a dict, found " + type_name(given)};
    for (const auto& [key, value] : given.dict().items) dict.set(key, value);
  }
  for (const auto& [name, value] : arguments.named) dict.set(name, value);
  return dict;
}

Value strftime_now(const Arguments& arguments) {
  const std::string format = text_of(needed(arguments, 0, "format"));
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::string text(format.size() * 4 + 256, '\0');
  text.resize(format.empty() ? 0 : std::strftime(text.data(), text.size(), format.c_str(), &local));
  return text;
}

Value global(const char* name, Value (*call)(const Arguments&)) {
  return Function{name, call};
}

}  // namespace

const std::map<std::string, Value>& globals() {
  static const std::map<std::string, Value> kGlobals = {
      {"range", global("range", range)},
      {"strftime_now", global("strftime_now", strftime_now)},
      {"dict", global("dict", [](const Arguments& a) { return Value(named_arguments(a)); })},
      {"namespace", global("namespace", [](const Arguments& a) { return Value::name_space(named_arguments(a)); })},
      {"raise_exception",
       global("raise_exception", [](const Arguments& a) -> Value { throw Fault{text_of(needed(a, 0, "message"))}; })},
  };
  return kGlobals;
}

Value argument(const Arguments& arguments, size_t index, const char* name, Value otherwise) {
  const Value* found = arguments.find(index, name);
  return found ? *found : std::move(otherwise);
}

const Value& needed(const Arguments& arguments, size_t index, const char* name) {
  const Value* found = arguments.find(index, name);
  if (!found) throw Fault{"missing argument " + std::to_string(index + 1) + (*name ? std::string(" (") + name + ")" : "")};
  return *found;
}

}  // namespace tp::jinja
