#include "launcher/tokenize.h"

#include <cstdio>

#include "launcher/jsonl_file.h"
#include "launcher/model_path.h"
#include "runtime/tokenizer.h"
#include "sharding/error.h"

namespace tp {
namespace {

std::vector<int32_t> ids_of(const Json& object) {
  require_known_keys(object, {"ids"});
  if (!object.contains("ids") || !object["ids"].is_array()) throw Error("", "has no list `ids`");
  std::vector<int32_t> ids;
  for (const Json& id : object["ids"]) {
    if (!id.is_number_integer() || id < INT32_MIN || id > INT32_MAX)
      throw Error("", "`ids`: " + id.dump() + " is not a token id");
    ids.push_back(id.get<int32_t>());
  }
  return ids;
}

// One entry per id, null where nothing is complete yet, and what the end of the text sets free.
Json pieces_of(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, bool skip_special) {
  const auto stream = tokenizer.stream(skip_special);
  Json pieces = Json::array();
  for (int32_t id : ids) {
    const std::string piece = stream->push(id);
    pieces.push_back(piece.empty() ? Json(nullptr) : Json(piece));
  }
  if (const std::string rest = stream->finish(); !rest.empty()) pieces.push_back(rest);
  return pieces;
}

Json answer(const Options& options, const Tokenizer& tokenizer, const Json& object) {
  if (options.flag("stream")) return {{"pieces", pieces_of(tokenizer, ids_of(object), options.flag("skip-special"))}};
  if (options.flag("decode")) return {{"text", tokenizer.decode(ids_of(object), options.flag("skip-special"))}};
  require_known_keys(object, {"text"});
  if (!object.contains("text") || !object["text"].is_string()) throw Error("", "has no `text`");
  return {{"ids", tokenizer.encode(object["text"].get<std::string>(), !options.flag("no-special"))}};
}

}  // namespace

int tokenize(const Options& options) {
  if (options.flag("no-special") && (options.flag("decode") || options.flag("stream"))) {
    throw Error("--no-special", "is for encoding", "--skip-special leaves special tokens out of a text");
  }
  if (options.flag("skip-special") && !options.flag("decode") && !options.flag("stream")) {
    throw Error("--skip-special", "is for decoding", "--no-special adds no special tokens to the ids");
  }
  const std::string path = options.given("tokenizer") ? options.text("tokenizer")
                           : options.given("model")   ? resolve_model(options.text("model"), false).string()
                                                      : "";
  if (path.empty()) throw Error("--tokenizer", "is needed", "--tokenizer DIR|tokenizer.json");
  const auto tokenizer = Tokenizer::load(path);
  std::string out;
  read_jsonl(options.given("input") ? options.text("input") : "-", [&](const Json& object, const std::string&) {
    out += answer(options, *tokenizer, object).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  });
  std::fwrite(out.data(), 1, out.size(), stdout);
  return 0;
}

}  // namespace tp
