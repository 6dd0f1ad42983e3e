#include "sharding/json_document.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "sharding/error.h"

namespace tp {
namespace {

struct TokenTooLong {};

// nlohmann's lexer takes iterators and keeps its position to itself; this one tells how far it has read, and ends a token that
// would fill the memory.
class TracingIterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  TracingIterator(const char* at, ReadProgress* progress) : at_(at), progress_(progress) {}
  reference operator*() const { return *at_; }
  TracingIterator& operator++() {
    progress_->at = ++at_;
    if (at_ > progress_->stop) throw TokenTooLong{};
    return *this;
  }
  TracingIterator operator++(int) {
    TracingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const TracingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const TracingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  ReadProgress* progress_;
};

// "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error …" -> "syntax error …"
std::string reason_of(const nlohmann::detail::exception& e) {
  const std::string text = e.what();
  const bool positioned = text.find("parse error") != std::string::npos;
  const size_t at = text.find(positioned ? ": " : "] ");
  return at == std::string::npos ? text : text.substr(at + 2);
}

}  // namespace

std::string line_and_column(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t newline = before.rfind('\n');
  const size_t column = newline == std::string_view::npos ? before.size() + 1 : before.size() - newline;
  return std::to_string(line) + ":" + std::to_string(column);
}

JsonReader::JsonReader(std::string_view text, std::string path, const JsonLimits& limits)
    : text_(text), path_(std::move(path)), limits_(limits), progress_{text.data(), nullptr} {}

void JsonReader::read() {
  const char* begin = text_.data();
  nlohmann::json_sax<Json>* events = this;
  next_event();
  try {
    Json::sax_parse(TracingIterator(begin, &progress_), TracingIterator(begin + text_.size(), &progress_), events);
  } catch (const TokenTooLong&) {
    fail("more than " + std::to_string(limits_.token_bytes) + " bytes in one key or value");
  }
}

void JsonReader::fail(const std::string& what) const {
  const size_t read = progress_.at > text_.data() ? static_cast<size_t>(progress_.at - text_.data()) - 1 : 0;
  throw Error(path_ + ":" + line_and_column(text_, read), what, "correct it there, or get the file again");
}

void JsonReader::on_scalar(Json value) {
  fail("unexpected " + shown(value.dump()));
}
void JsonReader::on_key(std::string key) {
  fail_at_key("unexpected key `" + shown(key) + "`");
}
void JsonReader::on_start(bool object) {
  fail(object ? "unexpected object" : "unexpected array");
}
void JsonReader::on_end() {}

std::string JsonReader::shown(const std::string& text) {
  constexpr size_t kShown = 100;
  if (text.size() <= kShown) return text;
  size_t end = kShown;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // whole UTF-8 sequences
  return text.substr(0, end) + "…";
}

void JsonReader::next_event() {
  const char* end = text_.data() + text_.size();
  progress_.stop = end - progress_.at > limits_.token_bytes ? progress_.at + limits_.token_bytes : end;
}

void JsonReader::count_value() {
  next_event();
  if (++values_ > limits_.values) fail("more than " + std::to_string(limits_.values) + " values");
}

bool JsonReader::scalar(Json value) {
  count_value();
  ++depth_;
  on_scalar(std::move(value));
  --depth_;
  return true;
}

// The text has been read up to the quote that closes the key; a key is told by where it starts.
void JsonReader::fail_at_key(const std::string& what) {
  const auto escaped = [&](const char* quote) {
    const char* at = quote;
    while (at > text_.data() && at[-1] == '\\') --at;
    return (quote - at) % 2 != 0;
  };
  const char* start = progress_.at - 2;
  while (start > text_.data() && (*start != '"' || escaped(start))) --start;
  progress_.at = start + 1;
  fail(what);
}

bool JsonReader::string(string_t& value) {
  count_value();
  ++depth_;
  on_string(std::move(value));
  --depth_;
  return true;
}

bool JsonReader::key(string_t& value) {
  next_event();
  on_key(std::move(value));
  return true;
}

bool JsonReader::start(bool object) {
  count_value();
  if (++depth_ > limits_.depth) fail("nested more than " + std::to_string(limits_.depth) + " deep");
  on_start(object);
  return true;
}

bool JsonReader::end() {
  on_end();
  --depth_;
  return true;
}

bool JsonReader::parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& e) {
  fail("not valid JSON: " + reason_of(e));
}

void JsonDocumentReader::on_key(std::string key) {
  if (open_.back()->contains(key)) fail_at_key("duplicate key `" + key + "`");
  key_ = std::move(key);
}

Json* JsonDocumentReader::place(Json value) {
  if (open_.empty()) return &(root_ = std::move(value));
  if (open_.back()->is_array()) return &open_.back()->emplace_back(std::move(value));
  return &((*open_.back())[key_] = std::move(value));
}

Json parse_json(std::string_view text, const std::string& path, const JsonLimits& limits) {
  JsonDocumentReader reader(text, path, limits);
  reader.read();
  return reader.take();
}

std::string read_text_file(const std::filesystem::path& path, int64_t limit_bytes) {
  std::error_code code;
  if (!std::filesystem::exists(path, code)) throw Error(path.string(), "no such file", "name a file that is there");
  if (!std::filesystem::is_regular_file(path, code))
    throw Error(path.string(), "not a regular file", "name a file, not a directory or a pipe");
  const auto size = static_cast<int64_t>(std::filesystem::file_size(path, code));
  if (code) throw Error(path.string(), "cannot be read: " + code.message(), "chmod +r, or name another file");
  if (size > limit_bytes) {
    throw Error(
        path.string(),
        std::to_string(size) + " bytes are more than the " + std::to_string(limit_bytes) + " that a file of this kind may have",
        "name the file that is meant");
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(path.string(), std::string("cannot be read: ") + std::strerror(errno), "chmod +r, or name another file");
  std::string text(static_cast<size_t>(size), '\0');
  in.read(text.data(), size);
  text.resize(static_cast<size_t>(in.gcount()));
  return text;
}

Json read_json_file(const std::filesystem::path& path, const JsonLimits& limits) {
  return parse_json(read_text_file(path, limits.size_bytes), path.string(), limits);
}

}  // namespace tp
