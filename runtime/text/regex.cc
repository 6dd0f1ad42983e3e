#include "runtime/text/regex.h"

#include <stdexcept>

#include "runtime/text/regex_syntax.h"
#include "runtime/text/utf8.h"
#include "sharding/error.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace tp {
namespace {

// As Oniguruma's limit; a sound pattern stays far below.
constexpr uint32_t kMatchLimit = 10'000'000;
constexpr size_t kJitStackBytes = size_t{8} << 20;

struct Free {
  void operator()(pcre2_code* p) const { pcre2_code_free(p); }
  void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }
  void operator()(pcre2_match_context* p) const { pcre2_match_context_free(p); }
  void operator()(pcre2_compile_context* p) const { pcre2_compile_context_free(p); }
  void operator()(pcre2_jit_stack* p) const { pcre2_jit_stack_free(p); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

std::string message_of(int code) {
  PCRE2_UCHAR text[256];
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

// What a search needs beside the pattern. One per thread: a pattern may be asked for hundred thousands of short pieces.
struct Search {
  Search()
      : data(pcre2_match_data_create(1, nullptr)),  // the ends of the match alone
        context(pcre2_match_context_create(nullptr)),
        jit_stack(pcre2_jit_stack_create(32 * 1024, kJitStackBytes, nullptr)) {
    pcre2_set_match_limit(context.get(), kMatchLimit);
    if (jit_stack) pcre2_jit_stack_assign(context.get(), nullptr, jit_stack.get());
  }
  Owned<pcre2_match_data> data;
  Owned<pcre2_match_context> context;
  Owned<pcre2_jit_stack> jit_stack;
};

bool find(const pcre2_code* code, std::string_view text, size_t from, Span& found) {
  thread_local const Search search;
  const auto run = [&](uint32_t options) {
    return pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from, options | PCRE2_NO_UTF_CHECK,
                       search.data.get(), search.context.get());
  };
  int result = run(0);
  if (result == PCRE2_ERROR_JIT_STACKLIMIT) result = run(PCRE2_NO_JIT);  // the interpreter keeps its stack on the heap
  if (result == PCRE2_ERROR_NOMATCH) return false;
  if (result < 0) throw Error("tokenizer.json", "a pattern cannot be matched against this text: " + message_of(result));
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(search.data.get());
  found = {ends[0], ends[1]};
  return true;
}

}  // namespace

struct Regex::Compiled {
  Owned<pcre2_code> code;
};

Regex::Regex(const std::string& pcre2_pattern) {
  const Owned<pcre2_compile_context> context(pcre2_compile_context_create(nullptr));
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int code = 0;
  PCRE2_SIZE offset = 0;
  auto compiled = std::make_shared<Compiled>();
  compiled->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pcre2_pattern.data()), pcre2_pattern.size(),
                                     PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &code, &offset,
                                     context.get()));
  if (!compiled->code) throw std::invalid_argument(message_of(code));
  pcre2_jit_compile(compiled->code.get(), PCRE2_JIT_COMPLETE);  // where there is no JIT, pcre2_match interprets
  compiled_ = std::move(compiled);
}

Regex Regex::pattern(std::string_view oniguruma) {
  return Regex(pcre2_pattern(oniguruma));
}
Regex Regex::literal(std::string_view text) {
  return Regex(literal_pattern(text));
}

std::vector<Span> Regex::find_all(std::string_view text) const {
  std::vector<Span> matches;
  size_t from = 0;
  size_t last_end = std::string_view::npos;
  Span found{};
  while (from <= text.size() && find(compiled_->code.get(), text, from, found)) {
    if (found.begin == found.end && found.end == last_end) {
      from += from < text.size() ? code_point_at(text, from).size_bytes : 1;
      continue;
    }
    from = last_end = found.end;
    matches.push_back(found);
  }
  return matches;
}

}  // namespace tp
