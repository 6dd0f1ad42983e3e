// Filters that work on lists.
#include <algorithm>
#include <cstdlib>

#include "runtime/jinja/filter_groups.h"
#include "runtime/jinja/letter_case.h"
#include "runtime/jinja/operators.h"

namespace tp::jinja {
namespace {

Value generator(List items) {
  return Value::iterator("generator", std::move(items));
}

// "a.b.0" of an item, as map, sort and selectattr take it; `otherwise` (unless none) stands for what is not there.
Value attribute_path(Value value, const Value& path, const Value& otherwise = {}) {
  const auto step = [&](const Value& key) {
    value = item_of(value, key);
    if (value.is_undefined() && !otherwise.is_none()) value = otherwise;
  };
  if (path.is_int()) {
    step(path);
    return value;
  }
  const std::string text = text_of(path);
  size_t start = 0;
  while (true) {
    const size_t dot = text.find('.', start);
    const std::string part = text.substr(start, dot == std::string::npos ? dot : dot - start);
    const bool number = !part.empty() && std::all_of(part.begin(), part.end(), [](unsigned char c) { return std::isdigit(c); });
    step(number ? Value(int64_t{std::atoll(part.c_str())}) : Value(part));
    if (dot == std::string::npos) return value;
    start = dot + 1;
  }
}

// Strings compare without regard to case, as Jinja's filters do by default.
Value sort_key(const Value& value, bool case_sensitive) {
  return value.is_string() && !case_sensitive ? Value(lower(value.string())) : value;
}

Value sorted(const Value& value, const Arguments& arguments) {
  List items = items_of(value);
  const bool reverse = truthy(argument(arguments, 0, "reverse", false));
  const bool case_sensitive = truthy(argument(arguments, 1, "case_sensitive", false));
  const Value attribute = argument(arguments, 2, "attribute", Value());
  const auto key = [&](const Value& item) {
    if (attribute.is_none()) return sort_key(item, case_sensitive);
    if (!attribute.is_string()) return sort_key(attribute_path(item, attribute), case_sensitive);
    List keys;  // "a,b": by a and then by b
    for (size_t start = 0; start != std::string::npos;) {
      const size_t comma = attribute.string().find(',', start);
      keys.push_back(sort_key(attribute_path(item, attribute.string().substr(start, comma - start)), case_sensitive));
      start = comma == std::string::npos ? comma : comma + 1;
    }
    return Value(std::move(keys));
  };
  std::stable_sort(items.begin(), items.end(), [&](const Value& a, const Value& b) {
    return reverse ? compare(key(b), key(a), "<") < 0 : compare(key(a), key(b), "<") < 0;
  });
  return items;
}

Value dictsort(const Value& value, const Arguments& arguments) {
  if (!defined(value).is_dict()) throw Fault{"dictsort needs a dict"};
  const bool case_sensitive = truthy(argument(arguments, 0, "case_sensitive", false));
  const bool by_value = text_of(argument(arguments, 1, "by", "key")) == "value";
  const bool reverse = truthy(argument(arguments, 2, "reverse", false));
  auto items = value.dict().items;
  std::stable_sort(items.begin(), items.end(), [&](const auto& a, const auto& b) {
    const Value left = sort_key(by_value ? a.second : a.first, case_sensitive);
    const Value right = sort_key(by_value ? b.second : b.first, case_sensitive);
    return reverse ? compare(right, left, "<") < 0 : compare(left, right, "<") < 0;
  });
  List pairs;
  for (const auto& [key, item] : items) pairs.push_back(Value::tuple({key, item}));
  return pairs;
}

Value unique(const Value& value, const Arguments& arguments) {
  const bool case_sensitive = truthy(argument(arguments, 0, "case_sensitive", false));
  const Value attribute = argument(arguments, 1, "attribute", Value());
  List kept, keys;
  for (const Value& item : items_of(value)) {
    const Value key = sort_key(attribute.is_none() ? item : attribute_path(item, attribute), case_sensitive);
    if (contains(keys, key)) continue;
    keys.push_back(key);
    kept.push_back(item);
  }
  return generator(std::move(kept));
}

Value extreme(const Value& value, const Arguments& arguments, int sign) {
  const bool case_sensitive = truthy(argument(arguments, 0, "case_sensitive", false));
  const Value attribute = argument(arguments, 1, "attribute", Value());
  const List items = items_of(value);
  if (items.empty()) return Undefined{"No aggregated item, sequence was empty."};
  const auto key = [&](const Value& item) {
    return sort_key(attribute.is_none() ? item : attribute_path(item, attribute), case_sensitive);
  };
  const Value* best = &items[0];
  for (const Value& item : items) {
    if (compare(key(item), key(*best), "<") * sign > 0) best = &item;
  }
  return *best;
}

Value sum(const Value& value, const Arguments& arguments) {
  const Value attribute = argument(arguments, 0, "attribute", Value());
  Value total = argument(arguments, 1, "start", int64_t{0});
  if (total.is_string()) throw Fault{"sum() can't sum strings [use ''.join(seq) instead]"};
  for (const Value& item : items_of(value)) {
    total = binary("+", total, attribute.is_none() ? item : attribute_path(item, attribute));
  }
  return total;
}

Value join(const Value& value, const Arguments& arguments) {
  const std::string separator = text_of(argument(arguments, 0, "d", ""));
  const Value attribute = argument(arguments, 1, "attribute", Value());
  std::string out;
  bool first = true;
  for (const Value& item : items_of(value)) {
    if (!first) out += separator;
    first = false;
    out += text_of(attribute.is_none() ? item : attribute_path(item, attribute));
    limit_text(out);
  }
  return out;
}

Value map(const Value& value, const Arguments& arguments) {
  List out;
  const Value* attribute = arguments.positional.empty() ? arguments.find(0, "attribute") : nullptr;
  const Value otherwise = argument({{}, arguments.named}, 0, "default", Value());
  if (!attribute && arguments.positional.empty()) throw Fault{"map requires a filter argument"};
  for (const Value& item : items_of(value)) {
    if (attribute) {
      out.push_back(attribute_path(item, *attribute, otherwise));
      continue;
    }
    Arguments rest{{arguments.positional.begin() + 1, arguments.positional.end()}, arguments.named};
    out.push_back(apply_filter(text_of(arguments.positional[0]), item, rest));
  }
  return generator(std::move(out));
}

// select, reject, selectattr and rejectattr.
Value select(const Value& value, Arguments arguments, bool by_attribute, bool wanted) {
  Value attribute;
  if (by_attribute) {
    attribute = needed(arguments, 0, "attribute");
    arguments.positional.erase(arguments.positional.begin());
  }
  std::string test;
  if (!arguments.positional.empty()) {
    test = text_of(arguments.positional[0]);
    arguments.positional.erase(arguments.positional.begin());
  }
  List kept;
  for (const Value& item : items_of(value)) {
    const Value subject = by_attribute ? attribute_path(item, attribute) : item;
    if ((test.empty() ? truthy(subject) : apply_test(test, subject, arguments)) == wanted) kept.push_back(item);
  }
  return generator(std::move(kept));
}

Value groupby(const Value& value, const Arguments& arguments) {
  const Value attribute = needed(arguments, 0, "attribute");
  const Value otherwise = argument(arguments, 1, "default", Value());
  const bool case_sensitive = truthy(argument(arguments, 2, "case_sensitive", false));
  const auto key_of = [&](const Value& item) { return attribute_path(item, attribute, otherwise); };
  List items = items_of(value);
  std::stable_sort(items.begin(), items.end(), [&](const Value& a, const Value& b) {
    return compare(sort_key(key_of(a), case_sensitive), sort_key(key_of(b), case_sensitive), "<") < 0;
  });
  List groups;
  List members;
  const auto close = [&](const Value& key) {
    if (!members.empty()) groups.push_back(Value::shaped(Shape::kGroup, {key, std::exchange(members, {})}));
  };
  Value key;
  for (const Value& item : items) {
    const Value next = key_of(item);
    if (!members.empty() && !equal(sort_key(next, case_sensitive), sort_key(key, case_sensitive))) close(key);
    if (members.empty()) key = next;
    members.push_back(item);
  }
  close(key);
  return groups;
}

Value batch(const Value& value, const Arguments& arguments) {
  const int64_t size = std::max<int64_t>(needed(arguments, 0, "linecount").integer(), 1);
  const Value* fill = arguments.find(1, "fill_with");
  List rows, row;
  for (const Value& item : items_of(value)) {
    if (static_cast<int64_t>(row.size()) == size) rows.emplace_back(std::exchange(row, {}));
    row.push_back(item);
  }
  if (row.empty()) return generator(std::move(rows));
  while (fill && !fill->is_none() && size <= 10'000 && static_cast<int64_t>(row.size()) < size) row.push_back(*fill);
  rows.emplace_back(std::move(row));
  return generator(std::move(rows));
}

// `count` lists one after the other, the first ones longer by one where it does not divide.
Value slice(const Value& value, const Arguments& arguments) {
  const int64_t count = needed(arguments, 0, "slices").integer();
  const Value fill = argument(arguments, 1, "fill_with", Value());
  if (count < 1 || count > 10'000) throw Fault{"slice takes a number from 1 to 10000"};
  const List items = items_of(value);
  const auto size = static_cast<int64_t>(items.size());
  List rows;
  auto at = items.begin();
  for (int64_t i = 0; i < count; ++i) {
    const auto end = at + size / count + (i < size % count ? 1 : 0);
    List row(at, end);
    if (!fill.is_none() && i >= size % count) row.push_back(fill);
    rows.emplace_back(std::move(row));
    at = end;
  }
  return generator(std::move(rows));
}

Value end_item(const Value& value, bool last) {
  if (value.is_iterator() && last) throw Fault{"'" + type_name(value) + "' object is not reversible"};
  if (value.is_iterator() && value.iterator().next < value.iterator().items.size())
    return value.iterator().items[value.iterator().next++];
  const List items = items_of(value);
  if (items.empty()) return Undefined{std::string("No ") + (last ? "last" : "first") + " item, sequence was empty."};
  return last ? items.back() : items.front();
}

Value reverse(const Value& value, const Arguments&) {
  List items = items_of(value);
  std::reverse(items.begin(), items.end());
  if (value.is_iterator() || value.is_undefined()) return items;
  if (!value.is_string()) return Value::iterator("reversed", std::move(items));
  std::string text;
  for (const Value& c : items) text += c.string();
  return text;
}

}  // namespace

void add_list_filters(std::map<std::string, Filter>& filters) {
  filters.insert({
      {"batch", batch},
      {"dictsort", dictsort},
      {"groupby", groupby},
      {"join", join},
      {"map", map},
      {"reverse", reverse},
      {"slice", slice},
      {"sort", sorted},
      {"sum", sum},
      {"unique", unique},
      {"first", [](const Value& v, const Arguments&) { return end_item(v, false); }},
      {"last", [](const Value& v, const Arguments&) { return end_item(v, true); }},
      {"list", [](const Value& v, const Arguments&) { return Value(items_of(v)); }},
      {"max", [](const Value& v, const Arguments& a) { return extreme(v, a, 1); }},
      {"min", [](const Value& v, const Arguments& a) { return extreme(v, a, -1); }},
      {"select", [](const Value& v, const Arguments& a) { return select(v, a, false, true); }},
      {"reject", [](const Value& v, const Arguments& a) { return select(v, a, false, false); }},
      {"selectattr", [](const Value& v, const Arguments& a) { return select(v, a, true, true); }},
      {"rejectattr", [](const Value& v, const Arguments& a) { return select(v, a, true, false); }},
  });
}

}  // namespace tp::jinja
