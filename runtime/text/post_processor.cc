#include "runtime/text/post_processor.h"

#include <functional>
#include <map>

#include "runtime/text/vocabulary.h"

namespace tp {
namespace {

// A template for one text: special tokens and the text itself (kText).
class Template : public PostProcessor {
 public:
  static constexpr int32_t kText = -1;

  explicit Template(std::vector<int32_t> parts) : parts_(std::move(parts)) {}
  void apply(std::vector<int32_t>& ids, bool add_special) const override {
    std::vector<int32_t> out;
    out.reserve(ids.size() + parts_.size());
    for (const int32_t part : parts_) {
      if (part == kText) {
        out.insert(out.end(), ids.begin(), ids.end());
      } else if (add_special) {
        out.push_back(part);
      }
    }
    ids = std::move(out);
  }

 private:
  std::vector<int32_t> parts_;
};

// ByteLevel and the like change offsets alone, which nobody asks for here.
class Nothing : public PostProcessor {
 public:
  void apply(std::vector<int32_t>&, bool) const override {}
};

// Whether a processor, or one inside of it, is of this type.
bool has_type(const JsonNode& node, const std::string& type) {
  if (type_of(node) != "Sequence") return type_of(node) == type;
  for (const JsonNode& item : node.at("processors").items()) {
    if (has_type(item, type)) return true;
  }
  return false;
}

class Sequence : public PostProcessor {
 public:
  explicit Sequence(const JsonNode& node) {
    bool templated = false;
    for (const JsonNode& item : node.at("processors").items()) {
      // The reference takes each part of a template for a text of its own there.
      for (const char* type : {"TemplateProcessing", "BertProcessing", "RobertaProcessing"}) {
        if (templated && has_type(item, type)) item.fail(std::string(type) + " behind a template is not supported");
      }
      templated |= has_type(item, "TemplateProcessing");
      parts_.push_back(read_post_processor(item));
    }
  }
  void apply(std::vector<int32_t>& ids, bool add_special) const override {
    for (const auto& part : parts_) part->apply(ids, add_special);
  }

 private:
  std::vector<std::unique_ptr<PostProcessor>> parts_;
};

std::unique_ptr<PostProcessor> read_template(const JsonNode& node) {
  std::vector<int32_t> parts;
  for (const JsonNode& piece : node.at("single").items()) {
    if (const auto sequence = piece.find("Sequence")) {
      if (sequence->at("id").text() != "A") sequence->fail("the template for one text uses a second one");
      parts.push_back(Template::kText);
      continue;
    }
    const JsonNode id = piece.at("SpecialToken").at("id");
    const auto special = node.at("special_tokens").find(id.text());
    if (!special) id.fail("`" + id.text() + "` is not in special_tokens");
    for (const JsonNode& token : special->at("ids").items()) {
      parts.push_back(static_cast<int32_t>(token.whole(0, kLargestTokenId)));
    }
  }
  return std::make_unique<Template>(std::move(parts));
}

// BERT's and RoBERTa's: ["[SEP]", 102] and ["[CLS]", 101].
std::unique_ptr<PostProcessor> read_cls_sep(const JsonNode& node) {
  const auto id = [&](const char* key) {
    const std::vector<JsonNode> pair = node.at(key).items();
    if (pair.size() != 2) node.at(key).fail("expected [token, id]");
    return static_cast<int32_t>(pair[1].whole(0, kLargestTokenId));
  };
  return std::make_unique<Template>(std::vector<int32_t>{id("cls"), Template::kText, id("sep")});
}

}  // namespace

std::unique_ptr<PostProcessor> read_post_processor(const JsonNode& node) {
  using Made = std::unique_ptr<PostProcessor>;
  static const std::map<std::string, std::function<Made(const JsonNode&)>> kReaders = {
      {"TemplateProcessing", read_template},
      {"BertProcessing", read_cls_sep},
      {"RobertaProcessing", read_cls_sep},
      {"ByteLevel", [](const JsonNode&) { return std::make_unique<Nothing>(); }},
      {"Sequence", [](const JsonNode& n) { return std::make_unique<Sequence>(n); }},
  };
  const std::string type = type_of(node);
  const auto reader = kReaders.find(type);
  if (reader == kReaders.end()) node.fail("post-processor \"" + type + "\" is not supported");
  return reader->second(node);
}

}  // namespace tp
