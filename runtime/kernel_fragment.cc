#include "runtime/kernel_fragment.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "sharding/error.h"

namespace tp {
namespace {

// Targets that a fragment may call. A custom call runs whatever the plugin has under its name.
const std::vector<std::string>& allowed_targets(const std::string& platform) {
  static const std::vector<std::string> tpu = {"tpu_custom_call"}, none;
  return platform == "tpu" ? tpu : none;
}

bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '.' || c == '-';
}

class FragmentReader {
 public:
  FragmentReader(const std::string& text, const std::string& symbol, const std::string& platform, const std::string& where)
      : text_(text), symbol_(symbol), platform_(platform), where_(where), code_(without_strings()) {}

  KernelFragment read() {
    check_functions();
    check_names();
    return {symbol_, signature(), text_};
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& fix = "") const { throw Error(where_, what, fix); }

  // The text with blanks where strings and comments are, so that only code is looked at.
  std::string without_strings() const {
    std::string code = text_;
    bool string = false;
    for (size_t i = 0; i < code.size(); ++i) {
      if (string) {
        const bool end = code[i] == '"';
        if (code[i] == '\\' && i + 1 < code.size()) code[i++] = ' ';
        code[i] = ' ';
        string = !end;
      } else if (code[i] == '"') {
        code[i] = ' ';
        string = true;
      } else if (code[i] == '/' && i + 1 < code.size() && code[i + 1] == '/') {
        while (i < code.size() && code[i] != '\n') code[i++] = ' ';
      }
    }
    if (string) fail("a string does not end");
    return code;
  }

  // At the top there are private functions alone.
  void check_functions() const {
    static const std::string kHead = "func.func private @";
    int depth = 0, functions = 0;
    for (size_t at = 0; at < code_.size(); ++at) {
      const char c = code_[at];
      if (depth == 0 && std::isspace(static_cast<unsigned char>(c)) == 0 && c != '}') {
        if (code_.compare(at, kHead.size(), kHead) != 0) fail("holds something else than private functions");
        const size_t body = code_.find('{', at);
        if (body == std::string::npos) fail("a function has no body");
        functions += name_at(at + kHead.size()) == symbol_ ? 1 : 0;
        at = body;
        depth = 1;
      } else if (c == '{') {
        ++depth;
      } else if (c == '}' && --depth < 0) {
        fail("a brace too many");
      }
    }
    if (depth != 0) fail("a function does not end");
    if (functions != 1) fail("has " + std::to_string(functions) + " functions @" + symbol_ + ", not 1");
  }

  void check_names() const {
    // The printed form names its target with @; the generic one hides it in an attribute.
    if (code_.find("call_target_name") != std::string::npos)
      fail("a custom call is written in the generic form", "export it again with tools/export_kernel.py");
    for (size_t at = code_.find('@'); at != std::string::npos; at = code_.find('@', at + 1)) {
      const std::string name = name_at(at + 1);
      if (is_custom_call(at)) {
        const auto& allowed = allowed_targets(platform_);
        if (std::find(allowed.begin(), allowed.end(), name) == allowed.end()) {
          fail("calls `" + name + "`, which a kernel for " + platform_ + " must not",
               allowed.empty() ? "write it without custom calls" : "kernels may call `" + allowed[0] + "` alone");
        }
      } else if (name != symbol_ && !name.starts_with(symbol_ + "__")) {
        fail("uses @" + name + ", which is none of its own", "its functions are @" + symbol_ + " and @" + symbol_ + "__…");
      }
    }
  }

  std::string name_at(size_t at) const {
    size_t end = at;
    while (end < code_.size() && is_name(code_[end])) ++end;
    return code_.substr(at, end - at);
  }

  bool is_custom_call(size_t at) const {
    size_t end = at;
    while (end > 0 && std::isspace(static_cast<unsigned char>(code_[end - 1])) != 0) --end;
    return end >= 11 && code_.compare(end - 11, 11, "custom_call") == 0;
  }

  // The types between the parentheses after the symbol, and those after the arrow.
  std::string signature() const {
    const size_t open = code_.find('(', code_.find("func.func private @" + symbol_ + "("));
    const size_t close = code_.find(')', open), body = code_.find('{', close), arrow = code_.find("->", close);
    if (close == std::string::npos || arrow == std::string::npos || body < arrow)
      fail("@" + symbol_ + " is not written as (%x: type, …) -> type {", "export it again with tools/export_kernel.py");
    std::string types;
    for (size_t at = open + 1; at < close;) {
      // A type holds commas only in `<…>` of layouts, which kernels do not have.
      const size_t end = std::min(code_.find(',', at), close), colon = code_.find(':', at);
      if (colon > end) fail("an argument of @" + symbol_ + " has no type");
      types += (types.empty() ? "" : ",") + code_.substr(colon + 1, end - colon - 1);
      at = end + 1;
    }
    return normalized_signature("(" + types + ")->" + code_.substr(arrow + 2, body - arrow - 2));
  }

  const std::string& text_;
  const std::string& symbol_;
  const std::string& platform_;
  const std::string& where_;
  std::string code_;
};

}  // namespace

std::string normalized_signature(const std::string& signature) {
  std::string text = signature;
  std::erase_if(text, [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; });
  return text;
}

KernelFragment parse_fragment(const std::string& text, const std::string& symbol, const std::string& platform,
                              const std::string& where) {
  return FragmentReader(text, symbol, platform, where).read();
}

}  // namespace tp
