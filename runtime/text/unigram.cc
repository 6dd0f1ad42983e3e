// Sentencepiece's unigram language model: the segmentation whose scores sum highest.
#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "runtime/text/byte_tokens.h"
#include "runtime/text/model.h"
#include "runtime/text/utf8.h"
#include "sharding/error.h"

namespace tp {
namespace {

constexpr double kUnknownPenalty = 10.0;  // below the lowest score

struct Entry {
  std::string token;
  double score;
};

class Unigram : public TokenModel {
 public:
  Unigram(std::vector<Entry> entries, std::optional<int32_t> unk_id, bool byte_fallback, std::string file)
      : entries_(std::move(entries)), unk_id_(unk_id), byte_fallback_(byte_fallback), file_(std::move(file)) {
    // Of equal tokens the last one counts; stable_sort keeps it at the end of its run.
    std::vector<int32_t> order(entries_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return entries_[a].token < entries_[b].token; });
    for (const int32_t id : order) {
      if (!sorted_.empty() && entries_[sorted_.back()].token == entries_[id].token) sorted_.pop_back();
      sorted_.push_back(id);
    }
    for (const Entry& entry : entries_) lowest_score_ = std::min(lowest_score_, entry.score);
    bytes_ = byte_token_ids([&](const std::string& token) { return token_to_id(token); });
  }

  void tokenize(std::string_view word, std::vector<int32_t>& ids) const override {
    for (const std::string_view token : segments(word)) {
      if (const int32_t id = token_to_id(token); id >= 0) {
        ids.push_back(id);
      } else if (!byte_fallback_ || !append_byte_tokens(bytes_, token, ids)) {
        ids.push_back(unknown_id());
      }
    }
  }

  int32_t token_to_id(std::string_view token) const override {
    const auto found = std::lower_bound(sorted_.begin(), sorted_.end(), token,
                                        [&](int32_t id, std::string_view t) { return entries_[id].token < t; });
    return found != sorted_.end() && entries_[*found].token == token ? *found : -1;
  }
  const std::string* id_to_token(int32_t id) const override { return id < 0 || id >= size() ? nullptr : &entries_[id].token; }
  int32_t size() const override { return static_cast<int32_t>(entries_.size()); }
  int32_t largest_id() const override { return size() - 1; }

 private:
  struct Node {
    int32_t id = -1;
    double score = 0.0;  // of the best path that ends here
    size_t start = kNowhere;
  };
  static constexpr size_t kNowhere = std::numeric_limits<size_t>::max();

  // The best path; neighbouring unknown characters are one segment.
  std::vector<std::string_view> segments(std::string_view word) const {
    const double unknown_score = lowest_score_ - kUnknownPenalty;
    std::vector<Node> nodes(word.size() + 1);
    for (size_t at = 0; at < word.size();) {
      const size_t next = at + code_point_at(word, at).size_bytes;
      bool single = false;
      const double before = nodes[at].score;
      for_each_prefix(word, at, [&](size_t end, int32_t id) {
        offer(nodes[end], id, before + entries_[id].score, at);
        single |= end == next;
      });
      if (!single) offer(nodes[next], kUnknown, before + unknown_score, at);
      at = next;
    }
    std::vector<std::string_view> reversed;
    size_t fused_end = kNowhere;
    for (size_t end = word.size(); end > 0; end = nodes[end].start) {
      const Node& node = nodes[end];
      const bool unknown = node.id == kUnknown || node.id == unk_id_;
      if (unknown && fused_end == kNowhere) fused_end = end;
      if (unknown && node.start > 0 && is_unknown(nodes[node.start])) continue;
      reversed.push_back(word.substr(node.start, (unknown ? fused_end : end) - node.start));
      fused_end = kNowhere;
    }
    std::reverse(reversed.begin(), reversed.end());
    return reversed;
  }

  static void offer(Node& node, int32_t id, double score, size_t start) {
    if (node.start == kNowhere || score > node.score) node = {id, score, start};
  }
  bool is_unknown(const Node& node) const { return node.id == kUnknown || node.id == unk_id_; }

  // Calls found(end, id) for every token that word has at `at`, shortest first: narrows the range of sorted tokens that
  // begin with the bytes so far.
  template <typename Found>
  void for_each_prefix(std::string_view word, size_t at, Found&& found) const {
    auto low = sorted_.begin(), high = sorted_.end();
    for (size_t size = 0; low != high; ++size) {
      if (entries_[*low].token.size() == size) {
        if (size > 0) found(at + size, *low);
        ++low;
      }
      if (at + size == word.size() || low == high) return;
      const auto byte = static_cast<unsigned char>(word[at + size]);
      const auto byte_of = [&](int32_t id) { return static_cast<unsigned char>(entries_[id].token[size]); };
      low = std::lower_bound(low, high, byte, [&](int32_t id, unsigned char b) { return byte_of(id) < b; });
      high = std::upper_bound(low, high, byte, [&](unsigned char b, int32_t id) { return b < byte_of(id); });
    }
  }

  int32_t unknown_id() const {
    if (!unk_id_) throw Error(file_, "model.unk_id: is missing and this text has a character that is not in the vocabulary");
    return *unk_id_;
  }

  static constexpr int32_t kUnknown = -2;

  std::vector<Entry> entries_;   // by id
  std::vector<int32_t> sorted_;  // ids by token
  std::optional<int32_t> unk_id_;
  bool byte_fallback_;
  std::string file_;
  double lowest_score_ = std::numeric_limits<double>::infinity();
  ByteTokenIds bytes_;
};

}  // namespace

std::unique_ptr<TokenModel> read_unigram(const JsonNode& node, ModelTables&) {
  const JsonNode vocab = node.at("vocab");
  std::vector<Entry> entries;
  if (!vocab.value().is_array()) vocab.fail(std::string("expected an array, found ") + vocab.value().type_name());
  entries.reserve(vocab.value().size());
  for (const Json& pair : vocab.value()) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_number()) {
      JsonNode(pair, node.file(), "model.vocab[" + std::to_string(entries.size()) + "]").fail("expected [token, score]");
    }
    entries.push_back({pair[0].get<std::string>(), pair[1].get<double>()});
  }
  std::optional<int32_t> unk_id;
  if (const auto unk = node.find("unk_id")) {
    if (entries.empty()) vocab.fail("is empty");
    unk_id = static_cast<int32_t>(unk->whole(0, static_cast<int64_t>(entries.size()) - 1));
  }
  return std::make_unique<Unigram>(std::move(entries), unk_id, node.flag("byte_fallback", false), node.file());
}

}  // namespace tp
