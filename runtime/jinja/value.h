#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tp::jinja {

// A place in a template, both counted from 1, columns in bytes.
struct Position {
  int line = 0;
  int column = 0;
};

// What goes wrong while a template is read or run. The place is filled in where it is known.
struct Fault {
  std::string message;
  Position at = {};
};

// Throws Fault for a text that is longer than a template may make one.
void limit_text(const std::string& text);

class Value;
using List = std::vector<Value>;

// Keys in the order they came, as in Python.
struct Dict {
  std::vector<std::pair<Value, Value>> items;
  const Value* find(const Value& key) const;
  void set(const Value& key, Value value);
};

// Arguments of a call, filter or test.
struct Arguments {
  List positional;
  std::vector<std::pair<std::string, Value>> named;

  // The argument at `index` or named `name`; nullptr when it is not given.
  const Value* find(size_t index, std::string_view name) const;
};

struct Function {
  std::string name;
  std::function<Value(const Arguments&)> call;
};

struct Undefined {
  std::string message;  // "'x' is undefined"
};
struct None {};
struct Namespace {
  Dict attributes;
};
// What map, select and the like give: items that are there once. Whoever goes over them takes them.
struct Iterator {
  std::string name;  // of its type: "generator"
  List items;
  size_t next = 0;
};

// What a list of values is to Python.
enum class Shape { kList, kTuple, kGroup, kKeys, kValues, kItems };

// A value of Python's, as far as templates see them. Lists, dicts and strings are shared and never change once made; a
// namespace does.
class Value {
 public:
  Value() : data_(None{}) {}
  Value(bool b) : data_(b) {}     // NOLINT: values are written as they are in Python
  Value(int64_t i) : data_(i) {}  // NOLINT
  Value(double d) : data_(d) {}   // NOLINT
  Value(std::string s) {          // NOLINT
    limit_text(s);
    data_ = std::make_shared<const std::string>(std::move(s));
  }
  Value(std::string_view s) : Value(std::string(s)) {}                                                        // NOLINT
  Value(const char* s) : Value(std::string(s)) {}                                                             // NOLINT
  Value(Undefined u) : data_(std::make_shared<const Undefined>(std::move(u))) {}                              // NOLINT
  Value(List items) : depth_(depth_above(items)) { data_ = std::make_shared<const List>(std::move(items)); }  // NOLINT
  Value(Dict dict) : depth_(depth_above(dict)) { data_ = std::make_shared<const Dict>(std::move(dict)); }     // NOLINT
  Value(Function f) : data_(std::make_shared<const Function>(std::move(f))) {}                                // NOLINT
  static Value shaped(Shape shape, List items) {
    Value value(std::move(items));
    value.shape_ = shape;
    return value;
  }
  static Value tuple(List items) { return shaped(Shape::kTuple, std::move(items)); }
  static Value iterator(std::string type, List items) {
    Value value;
    value.depth_ = depth_above(items);
    value.data_ = std::make_shared<Iterator>(Iterator{std::move(type), std::move(items)});
    return value;
  }
  static Value name_space(Dict attributes) {
    Value value;
    value.depth_ = depth_above(attributes);
    value.data_ = std::make_shared<Namespace>(Namespace{std::move(attributes)});
    return value;
  }

  bool is_undefined() const { return holds<Undefined>(); }
  bool is_none() const { return std::holds_alternative<None>(data_); }
  bool is_bool() const { return std::holds_alternative<bool>(data_); }
  bool is_int() const { return std::holds_alternative<int64_t>(data_); }
  bool is_float() const { return std::holds_alternative<double>(data_); }
  bool is_number() const { return is_bool() || is_int() || is_float(); }
  bool is_string() const { return holds<std::string>(); }
  bool is_list() const { return holds<List>() && !is_view(); }  // a tuple too
  bool is_tuple() const { return shape_ == Shape::kTuple || shape_ == Shape::kGroup; }
  bool is_view() const { return shape_ >= Shape::kKeys; }  // of a dict: keys(), values(), items()
  bool is_iterator() const { return std::holds_alternative<std::shared_ptr<Iterator>>(data_); }
  Shape shape() const { return shape_; }
  bool is_dict() const { return holds<Dict>(); }
  bool is_function() const { return holds<Function>(); }
  bool is_namespace() const { return std::holds_alternative<std::shared_ptr<Namespace>>(data_); }

  bool boolean() const { return std::get<bool>(data_); }
  // These throw Fault for a value of another kind.
  int64_t integer() const {
    if (is_bool()) return boolean();
    if (!is_int()) wrong_kind("int");
    return std::get<int64_t>(data_);
  }
  double number() const { return is_float() ? std::get<double>(data_) : static_cast<double>(integer()); }
  const std::string& string() const { return get<std::string>("str"); }
  const List& list() const { return get<List>("list"); }  // of a view too
  const Dict& dict() const { return get<Dict>("dict"); }
  const Function& function() const { return get<Function>("function"); }
  const Undefined& undefined() const { return get<Undefined>("undefined value"); }
  Namespace& name_space() const { return *std::get<std::shared_ptr<Namespace>>(data_); }
  std::shared_ptr<Namespace> shared_name_space() const { return std::get<std::shared_ptr<Namespace>>(data_); }
  Iterator& iterator() const { return *std::get<std::shared_ptr<Iterator>>(data_); }

 private:
  template <typename T>
  bool holds() const {
    return std::holds_alternative<std::shared_ptr<const T>>(data_);
  }
  template <typename T>
  const T& get(const char* kind) const {
    const auto* held = std::get_if<std::shared_ptr<const T>>(&data_);
    if (!held) wrong_kind(kind);
    return **held;
  }
  [[noreturn]] void wrong_kind(const char* wanted) const;
  // Throw Fault when `items` are nested too deep for a list or dict of them.
  static int depth_above(const List& items);
  static int depth_above(const Dict& dict);

  std::variant<None, bool, int64_t, double, std::shared_ptr<const std::string>, std::shared_ptr<const Undefined>,
               std::shared_ptr<const List>, std::shared_ptr<const Dict>, std::shared_ptr<const Function>,
               std::shared_ptr<Namespace>, std::shared_ptr<Iterator>>
      data_;
  Shape shape_ = Shape::kList;
  int depth_ = 0;  // of lists and dicts in one another when it was made: they are walked by recursion
};

// Python's names: "str", "NoneType", …
std::string type_name(const Value& value);

// As messages call it: "'str object'", "'None'".
std::string object_name(const Value& value);

bool truthy(const Value& value);
bool equal(const Value& a, const Value& b);
// -1, 0 or 1; throws Fault for values that Python does not order. `symbol` is for the message.
int compare(const Value& a, const Value& b, const std::string& symbol);

std::string text_of(const Value& value);  // Python's str(), "" for undefined
std::string repr(const Value& value);     // Python's repr()
std::string float_text(double value);     // Python's repr of a float

// The values that a loop goes over: items, keys, characters; an iterator is empty then. Throws Fault for what is not iterable.
List items_of(const Value& value);

// Throws Fault with its message for an undefined value.
const Value& defined(const Value& value);

// Code points of valid UTF-8, each as a string.
std::vector<std::string> characters_of(std::string_view text);

}  // namespace tp::jinja
