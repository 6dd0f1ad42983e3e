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
    check_quoted_names();
    check_functions();
    check_names();
    return {symbol_, signature(), text_};
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& fix = "") const { throw Error(where_, what, fix); }

  struct Quoted {
    std::string text;  // with its escapes undone
    size_t end;        // behind the closing quote
  };

  // The text with blanks where strings and comments are, so that only code is looked at. The strings go to strings_.
  std::string without_strings() {
    std::string code = text_;
    bool string = false;
    size_t begin = 0;
    for (size_t i = 0; i < code.size(); ++i) {
      if (string) {
        const bool end = code[i] == '"';
        if (code[i] == '\\' && i + 1 < code.size()) code[i++] = ' ';
        code[i] = ' ';
        string = !end;
        if (end) strings_.push_back({unescaped(text_.substr(begin, i - begin)), i + 1});
      } else if (code[i] == '"') {
        code[i] = ' ';
        string = true;
        begin = i + 1;
      } else if (code[i] == '/' && i + 1 < code.size() && code[i + 1] == '/') {
        while (i < code.size() && code[i] != '\n') code[i++] = ' ';
      }
    }
    if (string) fail("a string does not end");
    return code;
  }

  // MLIR takes any byte of a string as two hexadecimal digits behind a backslash.
  static std::string unescaped(const std::string& quoted) {
    std::string text;
    for (size_t i = 0; i < quoted.size(); ++i) {
      const auto digit = [&](size_t at) {
        return at < quoted.size() && std::isxdigit(static_cast<unsigned char>(quoted[at])) != 0;
      };
      if (quoted[i] == '\\' && digit(i + 1) && digit(i + 2)) {
        text += static_cast<char>(std::stoi(quoted.substr(i + 1, 2), nullptr, 16));
        i += 2;
      } else if (quoted[i] != '\\' || i + 1 == quoted.size()) {
        text += quoted[i];
      } else {
        text += quoted[++i];
      }
    }
    return text;
  }

  // Operations and attributes may be written with their names in quotes. Of operations those of StableHLO may, and no custom
  // call, whose target stands in an attribute then.
  void check_quoted_names() const {
    for (const Quoted& name : strings_) {
      const size_t next = code_.find_first_not_of(" \t\r\n", name.end);
      const char follows = next == std::string::npos ? '\0' : code_[next];
      const bool operation = follows == '(' && !in_location(name);
      const bool target =
          (operation && name.text == "stablehlo.custom_call") || (follows == '=' && name.text == "call_target_name");
      if (target) fail("a custom call is written in the generic form", "export it again with tools/export_kernel.py");
      if (operation && !name.text.starts_with("stablehlo."))
        fail("has the operation `" + name.text + "`, which is none of StableHLO",
             "export it again with tools/export_kernel.py");
    }
  }

  // loc("name"(…)) names a place of the source.
  bool in_location(const Quoted& name) const {
    const size_t before = code_.rfind("loc(", name.end);
    if (before == std::string::npos) return false;
    return code_.find_first_not_of(" \t\r\n", before + 4) >= name.end;
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
  std::vector<Quoted> strings_;
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
