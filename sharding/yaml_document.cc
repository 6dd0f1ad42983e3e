#include "sharding/yaml_document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <optional>
#include <sstream>

#include "sharding/error.h"

namespace tp {
namespace {

std::string place(const std::string& path, int line, int column) {
  return path + ":" + std::to_string(line) + ":" + std::to_string(column);
}

// yaml-cpp counts from 0, and gives -1 when it does not know.
std::string place(const std::string& path, const YAML::Mark& mark) {
  return place(path, std::max(mark.line, 0) + 1, std::max(mark.column, 0) + 1);
}

[[noreturn]] void refuse_alias(const std::string& where) {
  throw Error(where, "an unquoted leading `*` is a YAML alias", "put the pattern in quotes: \"*.…\"");
}

// Builds the tree from the parser's events, which show what yaml-cpp's own nodes hide: duplicate keys, anchors and tags.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::string path) : path_(std::move(path)) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    add(node(YamlNode::Kind::kNull, mark), mark);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse_alias(place(path_, mark)); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& value) override {
    refuse_tag(mark, tag);
    refuse_anchor(mark, anchor);
    YamlNode scalar = node(YamlNode::Kind::kScalar, mark);
    scalar.text = value;
    add(std::move(scalar), mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::kSequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open(YamlNode::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

  YamlNode take() { return std::move(root_); }

 private:
  struct Level {
    YamlNode node;
    std::optional<YamlNode> key;  // of a map, once it is read
  };

  static YamlNode node(YamlNode::Kind kind, const YAML::Mark& mark) {
    return {.kind = kind, .text = {}, .line = mark.line + 1, .column = mark.column + 1, .entries = {}, .items = {}};
  }

  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    if (anchor != 0) throw Error(place(path_, mark), "a plan has no YAML anchors (`&name`)", "write the value out");
  }

  // "?" marks a plain scalar, "!" a quoted one.
  void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (!tag.empty() && tag != "?" && tag != "!")
      throw Error(place(path_, mark), "a plan has no YAML tags (`" + tag + "`)", "leave the tag out");
  }

  void open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    refuse_tag(mark, tag);
    refuse_anchor(mark, anchor);
    if (awaits_key())
      throw Error(place(path_, mark), "a key must be plain text", "write it as one word or pattern, in quotes if need be");
    if (levels_.size() >= kMaxYamlDepth)
      throw Error(place(path_, mark), "nested too deeply for a plan", "plans/README.md shows what a plan looks like");
    levels_.push_back({node(kind, mark), std::nullopt});
  }

  void close() {
    YamlNode done = std::move(levels_.back().node);
    levels_.pop_back();
    attach(std::move(done));
  }

  bool awaits_key() const {
    return !levels_.empty() && levels_.back().node.kind == YamlNode::Kind::kMap && !levels_.back().key.has_value();
  }

  void add(YamlNode value, const YAML::Mark& mark) {
    if (!awaits_key()) return attach(std::move(value));
    if (value.kind != YamlNode::Kind::kScalar)
      throw Error(place(path_, mark), "a key must be plain text", "write it as one word or pattern, in quotes if need be");
    levels_.back().key = std::move(value);
  }

  void attach(YamlNode value) {
    if (levels_.empty()) {
      root_ = std::move(value);
    } else if (Level& level = levels_.back(); level.node.kind == YamlNode::Kind::kMap) {
      if (value.kind == YamlNode::Kind::kNull) {  // it has no place of its own
        value.line = level.key->line;
        value.column = level.key->column;
      }
      level.node.entries.push_back({std::move(*level.key), std::move(value)});
      level.key.reset();
    } else {
      level.node.items.push_back(std::move(value));
    }
  }

  std::string path_;
  std::vector<Level> levels_;
  YamlNode root_;
};

std::string line_of(const std::string& text, int line) {
  std::istringstream in(text);
  std::string found;
  for (int i = 0; i <= line && std::getline(in, found); ++i) {
  }
  return found;
}

// yaml-cpp reports an unquoted `*` in several ways, depending on what follows it; the line itself tells.
bool has_unquoted_star(const std::string& line) {
  const size_t first = line.find_first_not_of(" \t-{,");
  if (first != std::string::npos && line[first] == '*') return true;
  const size_t colon = line.find(": ");
  const size_t value = colon == std::string::npos ? colon : line.find_first_not_of(' ', colon + 1);
  return value != std::string::npos && line[value] == '*';
}

}  // namespace

std::string yaml_place(const std::string& path, const YamlNode& node) {
  return place(path, node.line, node.column);
}

YamlNode parse_yaml(const std::string& text, const std::string& path) {
  if (text.size() > kMaxYamlBytes)
    throw Error(path, "too large for a plan (" + std::to_string(text.size()) + " bytes)", "name a plan file");
  if (text.find('\0') != std::string::npos) throw Error(path, "not a text file", "name a plan file");
  try {
    std::istringstream in(text);
    YAML::Parser parser(in);
    TreeBuilder first(path);
    if (!parser.HandleNextDocument(first)) return {};
    TreeBuilder second(path);
    if (parser.HandleNextDocument(second))
      throw Error(yaml_place(path, second.take()), "a plan is one YAML document", "remove the `---` and what follows it");
    return first.take();
  } catch (const YAML::Exception& e) {
    const std::string where = place(path, e.mark);
    const std::string line = line_of(text, std::max(e.mark.line, 0));
    if (has_unquoted_star(line)) refuse_alias(where);
    const bool tab = line.find_first_not_of(' ') < line.size() && line[line.find_first_not_of(' ')] == '\t';
    throw Error(where, "not valid YAML: " + e.msg,
                tab ? "indent with blanks, YAML does not allow tabs" : "plans/README.md shows what a plan looks like");
  }
}

}  // namespace tp
