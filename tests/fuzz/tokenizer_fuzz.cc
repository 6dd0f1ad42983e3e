#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tokenizer.h"
#include "sharding/error.h"

namespace {

// What a stream gives must be what decode() gives.
void round_trip(const tp::Tokenizer& tokenizer, const std::vector<int32_t>& ids, bool skip_special) {
  const auto stream = tokenizer.stream(skip_special);
  std::string text;
  for (const int32_t id : ids) text += stream->push(id);
  text += stream->finish();
  if (text != tokenizer.decode(ids, skip_special)) std::abort();
}

}  // namespace

// A tokenizer.json that is taken encodes any text (or says why not) and decodes any ids.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto tokenizer = tp::Tokenizer::parse({reinterpret_cast<const char*>(data), size}, "tokenizer.json");
    const std::vector<int32_t> some = {-1, 0, 1, 2, 3, 259, 4, 5, 6, 7, tokenizer->vocab_size(), 8, 9};
    round_trip(*tokenizer, some, false);
    round_trip(*tokenizer, some, true);
    for (const std::string_view text :
         {"", " a ab  <s>12 b's\n\tA", "\u00e9e\u0301 \u4e2d\u6587 \U0001F680\u2581", "\xf0\x9f \xff"}) {
      try {
        round_trip(*tokenizer, tokenizer->encode(text, true), true);
      } catch (const tp::Error&) {
      }
    }
  } catch (const tp::Error&) {
  }
  return 0;
}
