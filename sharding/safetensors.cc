#include "sharding/safetensors.h"

#include <algorithm>
#include <optional>
#include <set>

#include "sharding/error.h"
#include "sharding/json_document.h"
#include "sharding/mapped_file.h"

namespace tp {
namespace {

constexpr int64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
constexpr int64_t kMaxTokenBytes = 4 << 20;       // of a name or of a text in __metadata__
constexpr size_t kMaxNameBytes = 512;
constexpr size_t kMaxMetadata = 10'000;
constexpr size_t kMaxDimensions = 32;
constexpr const char* kDamaged = "the file is damaged or not a safetensors file: get it again";
constexpr const char* kCutOff = "the file is damaged or its download was cut off: get it again";
constexpr std::string_view kLfsPointer = "version https://git-lfs.github.com/spec/";

// Takes the header apart event by event: a document of 100 MB would need many times that.
class HeaderReader : public JsonReader {
 public:
  HeaderReader(std::string_view json, const std::string& path, int64_t data_begin)
      : JsonReader(json, path + " header",
                   {.depth = 3, .values = 1'000'000, .size_bytes = kMaxHeaderBytes, .token_bytes = kMaxTokenBytes}),
        path_(path),
        data_begin_(data_begin) {}

  std::map<std::string, TensorEntry> tensors;

 protected:
  void on_start(bool object) override {
    if (depth() == 1 && object) return;
    if (depth() == 2 && object) {
      begin_entry();
      return;
    }
    const bool list = !metadata_ && (field_ == "shape" || field_ == "data_offsets");
    if (depth() != 3 || object || !list) fail(object ? "unexpected object" : "unexpected array");
    numbers_.clear();
  }

  void on_key(std::string key) override {
    if (depth() == 1) {
      metadata_ = key == "__metadata__";
      if (key.size() > kMaxNameBytes) fail_at_key("a name of more than " + std::to_string(kMaxNameBytes) + " bytes");
      if (tensors.contains(key) || (metadata_ && has_metadata_)) fail_at_key("duplicate key `" + shown(key) + "`");
      has_metadata_ = has_metadata_ || metadata_;
      name_ = std::move(key);
      return;
    }
    if (fields_.size() == kMaxMetadata) fail_at_key("more than " + std::to_string(kMaxMetadata) + " entries in __metadata__");
    if (!fields_.insert(key).second) fail_at_key("duplicate key `" + shown(key) + "`");
    const bool known = metadata_ || key == "dtype" || key == "shape" || key == "data_offsets";
    if (!known) fail_at_key("unexpected key `" + shown(key) + "`");
    field_ = std::move(key);
  }

  void on_scalar(Json value) override {
    if (metadata_ && depth() == 3 && value.is_string()) return;
    if (!metadata_ && depth() == 3 && field_ == "dtype" && value.is_string()) {
      entry_.dtype = dtype_from_safetensors(shown(value.get<std::string>()), where());
      return;
    }
    // Unsigned in nlohmann's eyes: whole and not negative.
    const bool fits = value.is_number_unsigned() && value.get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX);
    if (metadata_ || depth() != 4 || !fits) fail("unexpected " + shown(value.dump()));
    if (numbers_.size() == kMaxDimensions) fail("more than " + std::to_string(kMaxDimensions) + " numbers in " + field_);
    numbers_.push_back(value.get<int64_t>());
  }

  void on_end() override {
    if (depth() == 3 && field_ == "shape") entry_.shape = numbers_;
    if (depth() == 3 && field_ == "data_offsets") offsets_ = numbers_;
    if (depth() == 2 && !metadata_) end_entry();
  }

 private:
  std::string where() const { return path_ + ": tensor `" + name_ + "`"; }

  void begin_entry() {
    entry_ = {};
    offsets_.clear();
    fields_.clear();
    field_.clear();
  }

  void end_entry() {
    if (fields_.size() != 3) throw Error(where(), "needs dtype, shape and data_offsets", kDamaged);
    if (offsets_.size() != 2)
      throw Error(where(), "data_offsets has " + std::to_string(offsets_.size()) + " numbers, not 2", kDamaged);
    if (offsets_[0] > offsets_[1]) {
      throw Error(where(),
                  "data_offsets begin at " + std::to_string(offsets_[0]) + " and end at " + std::to_string(offsets_[1]),
                  kDamaged);
    }
    int64_t bytes = size_bytes(entry_.dtype);
    for (const int64_t size : entry_.shape) {
      if (__builtin_mul_overflow(bytes, size, &bytes)) throw Error(where(), "the product of its shape overflows", kDamaged);
    }
    if (offsets_[1] - offsets_[0] != bytes) {
      throw Error(where(),
                  "its shape needs " + std::to_string(bytes) + " bytes, data_offsets give it " +
                      std::to_string(offsets_[1] - offsets_[0]),
                  kDamaged);
    }
    if (__builtin_add_overflow(data_begin_, offsets_[0], &entry_.offset))
      throw Error(where(), "lies beyond the end of the file", kDamaged);
    entry_.size_bytes = bytes;
    tensors.emplace(name_, std::move(entry_));
  }

  std::string path_;
  int64_t data_begin_;
  std::string name_, field_;
  bool metadata_ = false, has_metadata_ = false;
  std::set<std::string> fields_;
  std::vector<int64_t> numbers_, offsets_;
  TensorEntry entry_;
};

// The tensors must fill the file from the header's end to its own end, without overlap or hole.
void check_layout(const std::map<std::string, TensorEntry>& tensors, int64_t data_begin, int64_t file_size,
                  const std::string& path) {
  std::vector<const std::map<std::string, TensorEntry>::value_type*> order;
  order.reserve(tensors.size());
  for (const auto& one : tensors) order.push_back(&one);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->second.offset, a->second.size_bytes) < std::pair(b->second.offset, b->second.size_bytes);
  });
  int64_t end = data_begin;
  for (const auto* one : order) {
    const TensorEntry& entry = one->second;
    const std::string where = path + ": tensor `" + one->first + "`";
    // The subtraction cannot overflow where the sum of both could.
    if (entry.offset > file_size || entry.size_bytes > file_size - entry.offset) {
      const bool beyond = entry.offset > file_size;
      throw Error(where,
                  "reaches beyond the end of the file (" + std::to_string(file_size) + " bytes" +
                      (beyond ? ")" : ", needed: " + std::to_string(entry.offset + entry.size_bytes) + ")"),
                  kCutOff);
    }
    if (entry.offset < end) throw Error(where, "overlaps the tensor before it", kDamaged);
    if (entry.offset > end)
      throw Error(where, "leaves a hole of " + std::to_string(entry.offset - end) + " bytes before it", kDamaged);
    end = entry.offset + entry.size_bytes;
  }
  if (end != file_size) {
    throw Error(path, std::to_string(file_size - end) + " bytes at the end belong to no tensor", kDamaged);
  }
}

// The header's length, from the first 8 bytes; refuses what cannot be one before anything is allocated.
int64_t header_length(std::string_view head, int64_t file_size, const std::string& path) {
  if (head.substr(0, kLfsPointer.size()) == kLfsPointer) {
    throw Error(path, "is a Git-LFS pointer, not the weights",
                "run `git lfs pull` in the model's directory, or download the file");
  }
  if (file_size < 8 || head.size() < 8) {
    throw Error(path, "has " + std::to_string(file_size) + " bytes, too few for a safetensors file", kCutOff);
  }
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | static_cast<unsigned char>(head[static_cast<size_t>(i)]);
  if (length < 2) throw Error(path, "not a safetensors file: its header has " + std::to_string(length) + " bytes", kDamaged);
  if (length > static_cast<uint64_t>(kMaxHeaderBytes)) {
    throw Error(path,
                "not a safetensors file: its header would have " + std::to_string(length) + " bytes, more than " +
                    std::to_string(kMaxHeaderBytes),
                kDamaged);
  }
  if (static_cast<int64_t>(length) > file_size - 8) {
    throw Error(path,
                "its header has " + std::to_string(length) + " bytes, but the file ends after " + std::to_string(file_size - 8),
                kCutOff);
  }
  return static_cast<int64_t>(length);
}

}  // namespace

std::map<std::string, TensorEntry> parse_safetensors_header(std::string_view head, int64_t file_size, const std::string& path) {
  const int64_t length = header_length(head, file_size, path);
  const std::string_view json = head.substr(8, static_cast<size_t>(length));
  if (json.size() != static_cast<size_t>(length)) throw Error(path, "its header could not be read as a whole", kCutOff);
  if (json.front() != '{') throw Error(path, "not a safetensors file: its header does not begin with `{`", kDamaged);
  HeaderReader reader(json, path, 8 + length);
  reader.read();
  check_layout(reader.tensors, 8 + length, file_size, path);
  return std::move(reader.tensors);
}

std::map<std::string, TensorEntry> read_safetensors_header(const std::filesystem::path& path) {
  std::error_code code;
  const std::string name = path.string();
  if (!std::filesystem::exists(path, code)) {
    const bool dangling = std::filesystem::is_symlink(path, code);
    throw Error(name, dangling ? "is a link to a file that does not exist" : "no such file", "get the file");
  }
  if (!std::filesystem::is_regular_file(path, code)) throw Error(name, "not a regular file", "put the file there");
  const auto size = static_cast<int64_t>(std::filesystem::file_size(path, code));
  if (code) throw Error(name, "cannot be read: " + code.message(), "make it readable");
  if (size < 8) header_length({}, size, name);  // refuses it
  const MappedFile file(path);
  const std::string_view head(reinterpret_cast<const char*>(file.data()), static_cast<size_t>(file.size_bytes()));
  return parse_safetensors_header(head, file.size_bytes(), name);
}

}  // namespace tp
