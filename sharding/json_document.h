#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tp {

using Json = nlohmann::json;

// Bounds on a JSON text of unknown origin.
struct JsonLimits {
  int depth = 64;            // arrays and objects in one another
  int64_t values = 1000000;  // scalars, arrays and objects together
  int64_t size_bytes = int64_t{64} << 20;
  int64_t token_bytes = int64_t{16} << 20;  // from one value or key to the next: bounds what the lexer holds
};

// Parses JSON strictly: a duplicate key, nesting, a number of values or a token beyond `limits`, a number that no double holds
// and text after the end are errors. Throws Error{where = "path:line:column"}, both counted from 1, columns in bytes.
Json parse_json(std::string_view text, const std::string& path, const JsonLimits& limits = {});

// The same for a file; a file that cannot be read or is larger than limits.size_bytes is an Error{where = path}.
Json read_json_file(const std::filesystem::path& path, const JsonLimits& limits = {});

// The whole of a file, or an Error{where = path}: missing, a directory, unreadable, larger than `limit_bytes`.
std::string read_text_file(const std::filesystem::path& path, int64_t limit_bytes);

// "line:column" of a byte offset, both counted from 1.
std::string line_and_column(std::string_view text, size_t offset);

// How far a text has been read, and how far it may be read before the next event.
struct ReadProgress {
  const char* at = nullptr;
  const char* stop = nullptr;
};

// The events of a JSON text with its position, for readers that build no document (a header of 100 MB) and for parse_json.
// A subclass overrides what it takes; every event it does not override is refused as "unexpected …".
class JsonReader : public nlohmann::json_sax<Json> {
 public:
  JsonReader(std::string_view text, std::string path, const JsonLimits& limits);
  // Reads all of the text. Throws Error as parse_json does.
  void read();
  // Throws Error at the place that has been read up to. A key or value of the text goes into a message by shown().
  [[noreturn]] void fail(const std::string& what) const;
  // The same from within on_key(), at the start of the key.
  [[noreturn]] void fail_at_key(const std::string& what);

 protected:
  virtual void on_scalar(Json value);
  virtual void on_string(std::string value) { on_scalar(std::move(value)); }  // a scalar too, for readers of many
  virtual void on_key(std::string key);
  virtual void on_start(bool object);
  virtual void on_end();
  static std::string shown(const std::string& text);  // cut off after 100 bytes
  int depth() const { return depth_; }                // of the value that is being read; the outermost one has 1

 private:
  bool null() override { return scalar(nullptr); }
  bool boolean(bool value) override { return scalar(value); }
  bool number_integer(number_integer_t value) override { return scalar(value); }
  bool number_unsigned(number_unsigned_t value) override { return scalar(value); }
  bool number_float(number_float_t value, const string_t&) override { return scalar(value); }
  bool string(string_t& value) override;
  bool binary(binary_t&) override { return false; }
  bool key(string_t& value) override;
  bool start_object(std::size_t) override { return start(true); }
  bool end_object() override { return end(); }
  bool start_array(std::size_t) override { return start(false); }
  bool end_array() override { return end(); }
  bool parse_error(std::size_t position, const std::string& last_token, const nlohmann::detail::exception& e) override;
  bool scalar(Json value);
  bool start(bool object);
  bool end();
  void next_event();
  void count_value();

  std::string_view text_;
  std::string path_;
  JsonLimits limits_;
  ReadProgress progress_;
  int depth_ = 0;
  int64_t values_ = 0;
};

// Builds the document that parse_json gives. A subclass may keep parts of it for itself.
class JsonDocumentReader : public JsonReader {
 public:
  using JsonReader::JsonReader;
  Json take() { return std::move(root_); }

 protected:
  void on_scalar(Json value) override { place(std::move(value)); }
  void on_key(std::string key) override;
  void on_start(bool object) override { open_.push_back(place(object ? Json::object() : Json::array())); }
  void on_end() override { open_.pop_back(); }

 private:
  Json* place(Json value);

  Json root_;
  std::string key_;
  // The arrays and objects that are not closed yet, by address: elements of a JSON array do not move while one of them is
  // open, since only the innermost one grows.
  std::vector<Json*> open_;
};

}  // namespace tp
