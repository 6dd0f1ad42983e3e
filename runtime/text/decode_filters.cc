#include "runtime/text/decode_filters.h"

#include <algorithm>

#include "runtime/text/byte_level.h"
#include "runtime/text/byte_tokens.h"

namespace tp {
namespace {

// As Rust's str::replace: an empty `from` matches before every character and at the end.
std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  if (from.empty()) {
    for (size_t at = 0; at < text.size();) {
      const size_t size = code_point_at(text, at).size_bytes;
      out.append(to).append(text, at, size);
      at += size;
    }
    return out.append(to);
  }
  size_t copied = 0;
  for (size_t at = 0; (at = text.find(from, at)) != std::string_view::npos; copied = at += from.size()) {
    out.append(text, copied, at - copied).append(to);
  }
  return out.append(text, copied);
}

// BERT's clean_up_tokenization.
std::string cleaned_up(std::string text) {
  static constexpr std::pair<const char*, const char*> kRules[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kRules) text = replaced(text, from, to);
  return text;
}

}  // namespace

void ByteLevelFilter::take(std::string token) {
  std::string bytes, text;
  append_byte_level_bytes(bytes, token);
  assembler_.push(bytes, text);
  if (!text.empty()) next_.text(text);
}

void ByteLevelFilter::flush() {
  std::string text;
  assembler_.finish(text);
  pass_token(text);
}

void ByteFallbackFilter::take(std::string token) {
  if (const auto byte = byte_of_token(token)) {
    bytes_.push_back(static_cast<char>(*byte));
    return;
  }
  flush();
  pass_token(token);
}

void ByteFallbackFilter::flush() {
  if (bytes_.empty()) return;
  if (valid_utf8(bytes_) == bytes_) {
    pass_token(bytes_);
  } else {
    for (size_t i = 0; i < bytes_.size(); ++i) pass_token("\uFFFD");
  }
  bytes_.clear();
}

void JoinFilter::begin() {
  if (begun_) return;
  if (!first_) next_.text(" ");
  begun_ = true;
  first_ = false;
}

void JoinFilter::text(std::string_view part) {
  begin();
  next_.text(part);
}

void JoinFilter::end_token() {
  begin();
  next_.end_token();
  begun_ = false;
}

void MetaspaceFilter::text(std::string_view part) {
  const bool drop = first_ && options_.prepend != PrependScheme::kNever;
  next_.text(replaced(part, options_.replacement, drop ? "" : " "));
}

void MetaspaceFilter::end_token() {
  first_ = false;
  next_.end_token();
}

void StripFilter::text(std::string_view part) {
  while (at_start_ && stripped_ < start_ && part.starts_with(content_)) {
    part.remove_prefix(content_.size());
    ++stripped_;
  }
  if (part.empty()) return;
  at_start_ = false;
  size_t end = part.size();
  size_t trailing = 0;
  while (trailing < stop_ && part.substr(0, end).ends_with(content_)) {
    end -= content_.size();
    ++trailing;
  }
  // What was held is the end no more, but for as much as the new end leaves room.
  const size_t keep = end == 0 ? std::min(held_, stop_ - trailing) : 0;
  for (size_t i = keep; i < held_; ++i) next_.text(content_);
  next_.text(part.substr(0, end));
  held_ = keep + trailing;
}

void StripFilter::end_token() {
  held_ = stripped_ = 0;
  at_start_ = true;
  next_.end_token();
}

void ReplaceTextFilter::text(std::string_view part) {
  held_ += part;
  size_t copied = 0;
  std::string out;
  for (size_t at = 0; (at = held_.find(from_, at)) != std::string::npos; copied = at += from_.size()) {
    out.append(held_, copied, at - copied).append(to_);
  }
  size_t keep = std::min(from_.size() - 1, held_.size() - copied);
  while (!std::string_view(held_).ends_with(std::string_view(from_).substr(0, keep))) --keep;
  out.append(held_, copied, held_.size() - keep - copied);
  held_.erase(0, held_.size() - keep);
  if (!out.empty()) next_.text(out);
}

void ReplaceTextFilter::end_token() {
  pass_token(held_);
  held_.clear();
}

void ReplacePatternFilter::take(std::string token) {
  if (token.empty()) return pass_token(token);
  std::string out;
  size_t copied = 0;
  for (const Span& match : pattern_.find_all(token)) {
    out.append(token, copied, match.begin - copied).append(content_);
    copied = match.end;
  }
  pass_token(out.append(token, copied));
}

void WordPieceFilter::take(std::string token) {
  if (!first_) {
    if (token.starts_with(prefix_)) {
      token.erase(0, prefix_.size());
    } else {
      token.insert(token.begin(), ' ');
    }
  }
  first_ = false;
  pass_token(cleanup_ ? cleaned_up(std::move(token)) : token);
}

void SuffixFilter::take(std::string token) {
  if (waiting_) pass_token(replaced(*waiting_, suffix_, " "));
  waiting_ = std::move(token);
}

void SuffixFilter::flush() {
  if (waiting_) pass_token(replaced(*waiting_, suffix_, ""));
  waiting_.reset();
}

void CtcFilter::take(std::string token) {
  if (token == previous_) return;
  std::string text = replaced(token, pad_, "");
  previous_ = std::move(token);
  if (cleanup_) text = replaced(cleaned_up(std::move(text)), delimiter_, " ");
  if (!text.empty()) pass_token(text);
}

}  // namespace tp
