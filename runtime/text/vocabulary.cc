#include "runtime/text/vocabulary.h"

#include <algorithm>

namespace tp {

Vocabulary::Vocabulary(const JsonNode& node) {
  if (!node.value().is_object()) node.fail("expected an object of tokens and ids");
  int64_t largest = -1;
  for (const auto& [token, id] : node.value().items()) {
    if (!id.is_number_integer()) node.at(token).whole(0, kLargestTokenId);
    const int64_t number = id.is_number_unsigned() && id.get<uint64_t>() > uint64_t{INT64_MAX} ? INT64_MAX : id.get<int64_t>();
    if (number < 0 || number > kLargestTokenId) node.at(token).whole(0, kLargestTokenId);
    largest = std::max(largest, number);
  }
  tokens_.resize(largest + 1);
  known_.resize(largest + 1);
  ids_.reserve(node.value().size());
  for (const auto& [token, id] : node.value().items()) {
    const auto number = id.get<int32_t>();
    if (known_[number]) node.fail("`" + tokens_[number] + "` and `" + token + "` both have the id " + std::to_string(number));
    known_[number] = true;
    tokens_[number] = token;
    ids_.emplace(tokens_[number], number);
  }
}

}  // namespace tp
