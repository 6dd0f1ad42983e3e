#include "runtime/text/model.h"

#include <map>

namespace tp {

std::unique_ptr<TokenModel> read_model(const JsonNode& node, ModelTables& tables) {
  using Reader = std::unique_ptr<TokenModel> (*)(const JsonNode&, ModelTables&);
  static const std::map<std::string, Reader> kReaders = {
      {"BPE", read_bpe}, {"Unigram", read_unigram}, {"WordPiece", read_word_piece}, {"WordLevel", read_word_level}};
  const auto named = node.find("type");
  // Files of older versions have no type; merges mark a BPE.
  const std::string type = named ? named->text() : node.find("merges") ? "BPE" : type_of(node);
  const auto reader = kReaders.find(type);
  if (reader == kReaders.end()) node.fail("model \"" + type + "\" is not supported");
  return reader->second(node, tables);
}

}  // namespace tp
