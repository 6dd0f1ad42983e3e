#include "runtime/jinja/json_text.h"

#include <algorithm>
#include <cstdio>

#include "runtime/text/utf8.h"

namespace tp::jinja {
namespace {

std::string quoted(const std::string& text, bool ensure_ascii) {
  std::string out = "\"";
  char escape[16];
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    constexpr std::string_view kNames = "\"\\\b\f\n\r\t";
    constexpr std::string_view kEscapes = "\"\\bfnrt";
    const size_t named = c.value < 0x80 ? kNames.find(static_cast<char>(c.value)) : std::string_view::npos;
    if (named != std::string_view::npos) {
      out += {'\\', kEscapes[named]};
    } else if (c.value < 0x20 || (ensure_ascii && c.value > 0x7E && c.value < 0x10000)) {
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c.value));
      out += escape;
    } else if (ensure_ascii && c.value >= 0x10000) {
      const unsigned rest = static_cast<unsigned>(c.value) - 0x10000;
      std::snprintf(escape, sizeof escape, "\\u%04x\\u%04x", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
      out += escape;
    } else {
      out.append(text, at, c.size_bytes);
    }
    at += c.size_bytes;
  }
  return out + '"';
}

class Writer {
 public:
  explicit Writer(const JsonStyle& style) : style_(style) {}

  void write(const Value& value) {
    if (value.is_none()) {
      out_ += "null";
    } else if (value.is_bool()) {
      out_ += value.boolean() ? "true" : "false";
    } else if (value.is_number()) {
      out_ += number(value);
    } else if (value.is_string()) {
      out_ += quoted(value.string(), style_.ensure_ascii);
    } else if (value.is_list()) {
      write_all('[', ']', value.list(), [&](const Value& item) { write(item); });
    } else if (value.is_dict()) {
      auto items = value.dict().items;
      if (style_.sort_keys) {
        std::stable_sort(items.begin(), items.end(),
                         [](const auto& a, const auto& b) { return compare(a.first, b.first, "<") < 0; });
      }
      write_all('{', '}', items, [&](const auto& item) {
        out_ += quoted(key(item.first), style_.ensure_ascii) + style_.key_separator;
        write(item.second);
      });
    } else {
      throw Fault{"Object of type " + type_name(value) + " is not JSON serializable"};
    }
  }
  std::string take() { return std::move(out_); }

 private:
  static std::string number(const Value& value) {
    const std::string text = repr(value);
    return text == "nan" ? "NaN" : text == "inf" ? "Infinity" : text == "-inf" ? "-Infinity" : text;
  }
  static std::string key(const Value& value) {
    if (value.is_string()) return value.string();
    if (value.is_none()) return "null";
    if (value.is_bool()) return value.boolean() ? "true" : "false";
    if (value.is_number()) return number(value);
    throw Fault{"keys must be str, int, float, bool or None, not " + type_name(value)};
  }

  template <typename Items, typename Write>
  void write_all(char open, char close, const Items& items, Write&& write) {
    out_ += open;
    ++depth_;
    bool first = true;
    for (const auto& item : items) {
      if (!first) out_ += style_.item_separator;
      first = false;
      new_line();
      write(item);
      limit_text(out_);
    }
    --depth_;
    if (!first) new_line();
    out_ += close;
  }
  void new_line() {
    if (style_.indent < 0) return;
    out_ += '\n';
    out_.append(static_cast<size_t>(style_.indent) * depth_, ' ');
  }

  const JsonStyle& style_;
  std::string out_;
  size_t depth_ = 0;
};

}  // namespace

std::string json_text(const Value& value, const JsonStyle& style) {
  Writer writer(style);
  writer.write(value);
  return writer.take();
}

}  // namespace tp::jinja
