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
  if (arguments.positional.size() > 3)
    throw Fault{"range expected at most 3 arguments, got " + std::to_string(arguments.positional.size())};
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
    if (given.is_dict()) {
      for (const auto& [key, value] : given.dict().items) dict.set(key, value);
      continue;
    }
    for (const Value& pair : items_of(given)) {
      const List items = items_of(pair);
      if (items.size() != 2) throw Fault{"dictionary update sequence needs pairs of a key and a value"};
      dict.set(items[0], items[1]);
    }
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

// joiner(", ")() is nothing the first time and then ", ".
Value joiner(const Arguments& arguments) {
  const auto used = std::make_shared<bool>(false);
  return Function{"joiner", [used, separator = argument(arguments, 0, "sep", ", ")](const Arguments&) {
                    return std::exchange(*used, true) ? separator : Value("");
                  }};
}

// cycler("a", "b"): next(), reset() and what is current.
Value cycler(const Arguments& arguments) {
  if (arguments.positional.empty()) throw Fault{"at least one item has to be provided"};
  const auto at = std::make_shared<size_t>(0);
  const Value value = Value::name_space({});
  const auto show = [items = arguments.positional, at, state = std::weak_ptr(value.shared_name_space())] {
    if (const auto attributes = state.lock()) attributes->attributes.set("current", items[*at % items.size()]);
    return items[*at % items.size()];
  };
  Dict& attributes = value.name_space().attributes;
  attributes.set("next", Function{"next", [show, at](const Arguments&) {
                                    const Value item = show();
                                    ++*at;
                                    show();
                                    return item;
                                  }});
  attributes.set("reset", Function{"reset", [show, at](const Arguments&) {
                                     *at = 0;
                                     show();
                                     return Value();
                                   }});
  show();
  return value;
}

Value global(const char* name, Value (*call)(const Arguments&)) {
  return Function{name, call};
}

}  // namespace

const std::map<std::string, Value>& globals() {
  static const std::map<std::string, Value> kGlobals = {
      {"cycler", global("cycler", cycler)},
      {"joiner", global("joiner", joiner)},
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
