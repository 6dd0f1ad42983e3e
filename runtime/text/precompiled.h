#pragma once

#include <memory>

#include "runtime/text/normalizer.h"

namespace tp {

// Sentencepiece's compiled replacement table ("precompiled_charsmap": base64 of a double-array trie and its replacements).
std::unique_ptr<Normalizer> read_precompiled(const JsonNode& node);

}  // namespace tp
