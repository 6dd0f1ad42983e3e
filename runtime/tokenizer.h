#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tp {

class StreamDecoder;

// A tokenizer.json of Hugging Face's `tokenizers`, for encoding, decoding and streaming. Immutable; may be shared.
class Tokenizer {
 public:
  // `path` is a tokenizer.json or a directory that has one. Throws Error: missing file, bad JSON (line and column), a
  // component that is not supported (by its type name).
  static std::shared_ptr<const Tokenizer> load(const std::filesystem::path& path);
  // The same for the file's text; messages call it `name`.
  static std::shared_ptr<const Tokenizer> parse(std::string_view text, const std::string& name);
  virtual ~Tokenizer() = default;

  // Ids of `text` (UTF-8; broken bytes are U+FFFD). With `add_special` the template post-processor adds its tokens.
  virtual std::vector<int32_t> encode(std::string_view text, bool add_special) const = 0;
  // Text of `ids`; ids beyond the vocabulary are passed over; broken bytes are U+FFFD.
  virtual std::string decode(const std::vector<int32_t>& ids, bool skip_special) const = 0;
  // A decoder for ids that come one at a time; the pieces joined equal decode() of all of them.
  virtual std::unique_ptr<StreamDecoder> stream(bool skip_special) const = 0;

  virtual int32_t vocab_size() const = 0;  // largest id + 1, added tokens included
  // -1 when there is no such token.
  virtual int32_t token_to_id(std::string_view token) const = 0;
  virtual bool is_special(int32_t id) const = 0;
};

class StreamDecoder {
 public:
  virtual ~StreamDecoder() = default;
  // The text that `id` completes; empty while a character is still incomplete.
  virtual std::string push(int32_t id) = 0;
  // What was held back, broken bytes as U+FFFD.
  virtual std::string finish() = 0;
};

}  // namespace tp
