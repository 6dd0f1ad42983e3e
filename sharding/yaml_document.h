#pragma once

#include <string>
#include <vector>

namespace tp {

struct YamlEntry;

// A node of a YAML file with the place it was written, for messages.
struct YamlNode {
  enum class Kind { kNull, kScalar, kSequence, kMap };
  Kind kind = Kind::kNull;
  std::string text;                // of a scalar
  int line = 1, column = 1;        // from 1
  std::vector<YamlEntry> entries;  // of a map, in order, duplicate keys kept
  std::vector<YamlNode> items;     // of a sequence
};

struct YamlEntry {
  YamlNode first, second;  // key, value
};

// The largest plan file that is read, and the deepest nesting. A plan is two levels deep.
inline constexpr size_t kMaxYamlBytes = 1 << 18;
inline constexpr int kMaxYamlDepth = 8;

// Parses the one document of a YAML file; an empty file is kNull. Throws Error{"path:line:column"}: what is not YAML, anchors, aliases (an unquoted leading `*`), tags, too deep or
// too large a file, a second document, keys that are not plain text.
YamlNode parse_yaml(const std::string& text, const std::string& path);

// "path:line:column" of a node.
std::string yaml_place(const std::string& path, const YamlNode& node);

}  // namespace tp
