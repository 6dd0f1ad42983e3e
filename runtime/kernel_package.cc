#include "runtime/kernel_package.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <regex>
#include <set>
#include <sstream>

#include "runtime/kernel_fragment.h"
#include "runtime/operator_build.h"
#include "runtime/sha256.h"
#include "sharding/error.h"
#include "sharding/json_document.h"
#include "sharding/near_names.h"
#include "sharding/yaml_document.h"

namespace tp {
namespace {

constexpr int64_t kLargestFragment = int64_t{64} << 20;

bool is_version(const std::string& text) {
  static const std::regex kThreeNumbers("[0-9]{1,6}(\\.[0-9]{1,6}){2}");
  return std::regex_match(text, kThreeNumbers);
}

// Of a version such as 0.0.42, its parts.
std::array<int, 3> version_parts(const std::string& version) {
  std::array<int, 3> parts{};
  std::istringstream in(version);
  char dot = 0;
  in >> parts[0] >> dot >> parts[1] >> dot >> parts[2];
  return parts;
}

// The newest Mosaic that libtpu reads, by the first libtpu that reads it (measured).
int64_t newest_mosaic(const std::string& libtpu_version) {
  constexpr std::pair<std::array<int, 3>, int64_t> kFirst[] = {{{0, 0, 42}, 11}, {{0, 0, 34}, 9}, {{0, 0, 20}, 7}};
  for (const auto& [version, mosaic] : kFirst) {
    if (version_parts(libtpu_version) >= version) return mosaic;
  }
  return 0;
}

class PackageReader {
 public:
  explicit PackageReader(const std::filesystem::path& dir) : path_((dir / "kernel.yaml").string()) { package_.dir = dir; }

  KernelPackage read() {
    const YamlNode root = parse_yaml(read_text_file(path_, kMaxYamlBytes), path_);
    const Fields fields = fields_of(
        root, {"schema", "name", "version", "license", "replaces", "built_with", "min_libtpu", "operator", "variants"});
    if (text(root, fields, "schema") != "1")
      fail(*fields.at("schema"), "is of a schema that this version does not know", "schema: 1");
    package_.name = text(root, fields, "name");
    package_.version = text(root, fields, "version");
    package_.license = text(root, fields, "license");
    package_.op = text(root, fields, "replaces");
    if (fields.contains("min_libtpu")) {
      package_.min_libtpu = text(root, fields, "min_libtpu");
      if (!is_version(package_.min_libtpu))
        fail(*fields.at("min_libtpu"), "`" + package_.min_libtpu + "` is not a version", "three numbers, as in 0.0.42");
    }
    if (fields.contains("operator")) package_.operator_name = text(root, fields, "operator");
    package_.builds = build_names(package_.dir);
    if (fields.contains("built_with")) read_builder(*fields.at("built_with"));
    const KernelOp* op = find_kernel_op(package_.op);
    if (op == nullptr)
      fail(*fields.at("replaces"), "no operation `" + package_.op + "` can be replaced", kernel_op_fix(package_.op));
    if (op->operators.empty() && fields.contains("operator"))
      fail(*fields.at("operator"), "no torch operator can replace `" + package_.op + "`", "leave it out");
    if (!fields.contains("variants")) {
      if (package_.builds.empty()) fail(root, "has no `variants`");
      return std::move(package_);
    }
    for (const YamlNode& item : fields.at("variants")->items) read_variant(item, *op);
    if (package_.variants.empty()) fail(*fields.at("variants"), "has no variants");
    return std::move(package_);
  }

 private:
  using Fields = std::map<std::string, const YamlNode*>;

  [[noreturn]] void fail(const YamlNode& node, const std::string& what, const std::string& fix = "") const {
    throw Error(yaml_place(path_, node), what, fix);
  }

  Fields fields_of(const YamlNode& map, const std::vector<std::string>& known) const {
    if (map.kind != YamlNode::Kind::kMap) fail(map, "expected `name: value` lines");
    Fields fields;
    for (const auto& [key, value] : map.entries) {
      if (std::find(known.begin(), known.end(), key.text) == known.end())
        fail(key, "unknown key `" + key.text + "`", did_you_mean(key.text, known));
      if (!fields.emplace(key.text, &value).second) fail(key, "`" + key.text + "` is there twice");
    }
    return fields;
  }

  std::string text(const YamlNode& map, const Fields& fields, const std::string& name) const {
    const auto found = fields.find(name);
    if (found == fields.end()) fail(map, "has no `" + name + "`");
    if (found->second->kind != YamlNode::Kind::kScalar || found->second->text.empty())
      fail(*found->second, "`" + name + "` is no text");
    return found->second->text;
  }

  void read_builder(const YamlNode& map) {
    const Fields fields = fields_of(map, {"jax", "mosaic"});
    if (fields.contains("jax")) package_.jax = text(map, fields, "jax");
    if (!fields.contains("mosaic")) return;
    const std::string mosaic = text(map, fields, "mosaic");
    const auto [rest, error] = std::from_chars(mosaic.data(), mosaic.data() + mosaic.size(), package_.mosaic);
    if (error != std::errc() || rest != mosaic.data() + mosaic.size() || package_.mosaic < 1)
      fail(*fields.at("mosaic"), "`" + mosaic + "` is no version of Mosaic");
  }

  void read_variant(const YamlNode& item, const KernelOp& op) {
    const Fields fields = fields_of(item, {"platform", "match", "file", "symbol", "signature", "sha256", "aliases"});
    KernelVariant variant;
    variant.platform = text(item, fields, "platform");
    if (variant.platform != "tpu" && variant.platform != "cpu") fail(*fields.at("platform"), "is neither tpu nor cpu");
    variant.file = text(item, fields, "file");
    variant.symbol = text(item, fields, "symbol");
    variant.signature = normalized_signature(text(item, fields, "signature"));
    variant.sha256 = text(item, fields, "sha256");
    // A package brings its own files.
    if (variant.file.front() == '/' || variant.file.find("..") != std::string::npos)
      fail(*fields.at("file"), "leads out of the package");
    if (!fields.contains("match")) fail(item, "has no `match`");
    const YamlNode& match = *fields.at("match");
    for (const auto& [name, value] : fields_of(match, op.parameters)) variant.match[name] = match_value(*value);
    for (const std::string& parameter : op.parameters) {
      if (!variant.match.contains(parameter)) fail(match, "does not say which `" + parameter + "` it is for");
    }
    if (fields.contains("aliases")) read_aliases(*fields.at("aliases"), variant);
    if (variant.aliases != op.aliases) {
      fail(fields.contains("aliases") ? *fields.at("aliases") : item,
           "writes other operands in place than " + op.name + " does",
           op.aliases.empty() ? "leave `aliases` out" : "aliases: " + shown(op.aliases));
    }
    for (const KernelVariant& other : package_.variants) {
      if (other.platform != variant.platform) continue;
      if (other.match == variant.match) fail(item, "is for the same as the variant of " + other.file);
      if (other.symbol == variant.symbol) fail(*fields.at("symbol"), "the variant of " + other.file + " has this symbol too");
    }
    package_.variants.push_back(std::move(variant));
  }

  static std::string shown(const std::map<int, int>& aliases) {
    std::string text;
    for (const auto& [operand, result] : aliases)
      text += (text.empty() ? "" : ", ") + std::to_string(operand) + ": " + std::to_string(result);
    return "{" + text + "}";
  }

  // `aliases: {OPERAND: RESULT, …}`, counted from 0.
  void read_aliases(const YamlNode& map, KernelVariant& variant) const {
    if (map.kind != YamlNode::Kind::kMap) fail(map, "expected {OPERAND: RESULT, …}");
    const std::vector<std::string> operands = operand_types(variant.signature), results = result_types(variant.signature);
    for (const auto& [key, value] : map.entries) {
      const int64_t operand = index(key, operands.size()), result = index(value, results.size());
      if (operands[static_cast<size_t>(operand)] != results[static_cast<size_t>(result)])
        fail(key, "operand " + key.text + " and result " + value.text + " are of different types");
      if (!variant.aliases.emplace(operand, result).second) fail(key, "operand " + key.text + " is there twice");
    }
  }

  int64_t index(const YamlNode& node, size_t count) const {
    const std::string text = match_value(node);
    const bool number = !text.empty() && text.size() < 4 && text.find_first_not_of("0123456789") == std::string::npos;
    if (!number || std::stoul(text) >= count)
      fail(node, "`" + node.text + "` is none of " + std::to_string(count) + " in the signature");
    return std::stoll(text);
  }

  std::string match_value(const YamlNode& node) const {
    if (node.kind != YamlNode::Kind::kScalar) fail(node, "a parameter is a number or a word");
    const char* const end = node.text.data() + node.text.size();
    int64_t whole = 0;
    if (const auto [rest, error] = std::from_chars(node.text.data(), end, whole); error == std::errc() && rest == end)
      return std::to_string(whole);
    double value = 0;
    const auto [rest, error] = std::from_chars(node.text.data(), end, value);
    return error == std::errc() && rest == end ? match_number(value) : node.text;
  }

  std::string path_;
  KernelPackage package_;
};

}  // namespace

// As float32, which is what programs hold: two ways to compute a double may differ in its last bit.
std::string match_number(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof(text), static_cast<float>(value));
  return {text, end};
}

// Types hold commas only in `<…>` of layouts, which kernels do not have.
static std::vector<std::string> types_of(std::string list) {
  if (list.starts_with("(")) list = list.substr(1, list.size() - 2);
  std::vector<std::string> types;
  for (size_t at = 0; at < list.size();) {
    const size_t next = std::min(list.find(',', at), list.size());
    types.push_back(list.substr(at, next - at));
    at = next + 1;
  }
  return types;
}

std::vector<std::string> operand_types(const std::string& signature) {
  return types_of(signature.substr(0, signature.find("->")));
}

std::vector<std::string> result_types(const std::string& signature) {
  const size_t arrow = signature.find("->");
  return arrow == std::string::npos ? std::vector<std::string>() : types_of(signature.substr(arrow + 2));
}

KernelPackage read_kernel_package(const std::filesystem::path& dir) {
  std::error_code ignored;
  const std::vector<std::string> builds = build_names(dir);
  if (builds.empty() || std::filesystem::exists(dir / "kernel.yaml", ignored)) return PackageReader(dir).read();
  const OperatorBuild build = read_build_metadata(dir / "build" / builds.front());
  KernelPackage package{.dir = dir, .name = build.name, .version = build.version, .license = build.license, .builds = builds};
  const auto op = std::ranges::find_if(kernel_ops(), [](const KernelOp& known) { return !known.operators.empty(); });
  package.op = op->name;
  return package;
}

std::string variant_text(const KernelPackage& package, const KernelVariant& variant) {
  const std::string where = (package.dir / variant.file).string();
  std::string text = read_text_file(where, kLargestFragment);
  if (const std::string digest = sha256_hex(text); digest != variant.sha256) {
    throw Error(where, "has the digest " + digest + ", kernel.yaml says " + variant.sha256,
                "get the package again, or export it again with tools/export_kernel.py");
  }
  const KernelFragment fragment = parse_fragment(text, variant.symbol, variant.platform, where);
  if (fragment.signature != variant.signature) {
    throw Error(where, "@" + variant.symbol + " is " + fragment.signature + ", kernel.yaml says " + variant.signature,
                "export it again with tools/export_kernel.py");
  }
  // Without that the compiler copies the operand first.
  const bool in_place = text.find("output_operand_aliases") != std::string::npos;
  if (!variant.aliases.empty() && text.find("@tpu_custom_call") != std::string::npos && !in_place) {
    throw Error(where, "its custom call writes nothing in place (it has no output_operand_aliases)",
                "give pallas_call its input_output_aliases, and export it again");
  }
  return text;
}

void require_libtpu_for(const KernelPackage& package, const std::string& libtpu_version) {
  const std::string where = (package.dir / "kernel.yaml").string();
  if (!package.min_libtpu.empty() && version_parts(libtpu_version) < version_parts(package.min_libtpu)) {
    throw Error(where, "needs libtpu " + package.min_libtpu + ", this is " + libtpu_version, "pip install --upgrade libtpu");
  }
  if (package.mosaic > newest_mosaic(libtpu_version)) {
    throw Error(where,
                "its kernels are Mosaic of version " + std::to_string(package.mosaic) + ", libtpu " + libtpu_version +
                    " reads up to " + std::to_string(newest_mosaic(libtpu_version)),
                "a newer libtpu, or export them again with an older jax");
  }
}

}  // namespace tp
