#include "sharding/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sharding/written_files.h"

namespace tp {
namespace {

class Safetensors : public WrittenFiles {
 protected:
  std::string refusal_of(const std::string& content) {
    const std::filesystem::path path = write("m.safetensors", content);
    return refusal([&] { read_safetensors_header(path); });
  }
  std::string refusal_of(const std::string& header, size_t data_bytes) { return refusal_of(safetensors(header, data_bytes)); }
};

constexpr const char* kDamaged = "\n  fix: the file is damaged or not a safetensors file: get it again";
constexpr const char* kElsewhere = "\n  fix: correct it there, or get the file again";
constexpr const char* kCutOff = "\n  fix: the file is damaged or its download was cut off: get it again";

TEST_F(Safetensors, ReadsTensorsInAnyOrderWithMetadataAndPadding) {
  const std::string header =
      R"({"__metadata__": {"format": "pt"}, "b": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [4, 16]},
                                 "a": {"data_offsets": [0, 4], "shape": [], "dtype": "F32"},
                                 "none": {"dtype": "I64", "shape": [0], "data_offsets": [16, 16]}}   )";
  const auto tensors = read_safetensors_header(write("m.safetensors", safetensors(header, 16)));
  ASSERT_EQ(tensors.size(), 3u);
  const auto begin = static_cast<int64_t>(8 + header.size());
  EXPECT_EQ(tensors.at("a").dtype, DType::kF32);
  EXPECT_EQ(tensors.at("a").shape, std::vector<int64_t>{});
  EXPECT_EQ(tensors.at("a").offset, begin);
  EXPECT_EQ(tensors.at("a").size_bytes, 4);
  EXPECT_EQ(tensors.at("b").dtype, DType::kBF16);
  EXPECT_EQ(tensors.at("b").shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(tensors.at("b").offset, begin + 4);
  EXPECT_EQ(tensors.at("b").size_bytes, 12);
  EXPECT_EQ(tensors.at("none").size_bytes, 0);
}

TEST_F(Safetensors, RefusesFilesThatAreTooShort) {
  EXPECT_EQ(refusal_of(""), std::string("m.safetensors: has 0 bytes, too few for a safetensors file") + kCutOff);
  EXPECT_EQ(refusal_of("1234567"), std::string("m.safetensors: has 7 bytes, too few for a safetensors file") + kCutOff);
}

TEST_F(Safetensors, RefusesHeaderLengthsThatCannotBe) {
  EXPECT_EQ(
      refusal_of(std::string(8, '\xff')),
      std::string(
          "m.safetensors: not a safetensors file: its header would have 18446744073709551615 bytes, more than 100000000") +
          kDamaged);
  EXPECT_EQ(refusal_of(std::string(8, '\0')),
            std::string("m.safetensors: not a safetensors file: its header has 0 bytes") + kDamaged);
  EXPECT_EQ(refusal_of("{", 0), std::string("m.safetensors: not a safetensors file: its header has 1 bytes") + kDamaged);
  EXPECT_EQ(refusal_of(std::string("\x40\0\0\0\0\0\0\0{}", 10)),
            std::string("m.safetensors: its header has 64 bytes, but the file ends after 2") + kCutOff);
  EXPECT_EQ(refusal_of(std::string("\x01\xe1\xf5\x05\0\0\0\0{}", 10)),
            std::string("m.safetensors: not a safetensors file: its header would have 100000001 bytes, more than 100000000") +
                kDamaged);
}

TEST_F(Safetensors, RefusesAGitLfsPointerByName) {
  EXPECT_EQ(refusal_of("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n"),
            "m.safetensors: is a Git-LFS pointer, not the weights\n"
            "  fix: run `git lfs pull` in the model's directory, or download the file");
}

TEST_F(Safetensors, RefusesATruncatedFile) {
  EXPECT_EQ(refusal_of(R"({"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}})", 12),
            "m.safetensors: tensor `a`: reaches beyond the end of the file (82 bytes, needed: 86)" + std::string(kCutOff));
}

TEST_F(Safetensors, RefusesOverlapHoleAndRest) {
  const std::string a = R"({"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}, )";
  EXPECT_EQ(refusal_of(a + R"("b": {"dtype": "U8", "shape": [4], "data_offsets": [12, 16]}})", 16),
            std::string("m.safetensors: tensor `b`: overlaps the tensor before it") + kDamaged);
  EXPECT_EQ(refusal_of(a + R"("b": {"dtype": "U8", "shape": [4], "data_offsets": [20, 24]}})", 24),
            std::string("m.safetensors: tensor `b`: leaves a hole of 4 bytes before it") + kDamaged);
  EXPECT_EQ(refusal_of(R"({"b": {"dtype": "U8", "shape": [4], "data_offsets": [4, 8]}})", 8),
            std::string("m.safetensors: tensor `b`: leaves a hole of 4 bytes before it") + kDamaged);
  EXPECT_EQ(refusal_of(R"({"b": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}})", 8),
            std::string("m.safetensors: 4 bytes at the end belong to no tensor") + kDamaged);
}

TEST_F(Safetensors, RefusesNumbersThatDoNotFit) {
  const auto with = [&](const std::string& shape, const std::string& offsets) {
    return refusal_of(R"({"a": {"dtype": "F32", "shape": )" + shape + R"(, "data_offsets": )" + offsets + "}}", 16);
  };
  EXPECT_EQ(with("[4294967296, 4294967296]", "[0, 16]"),
            std::string("m.safetensors: tensor `a`: the product of its shape overflows") + kDamaged);
  EXPECT_EQ(with("[4]", "[16, 0]"), std::string("m.safetensors: tensor `a`: data_offsets begin at 16 and end at 0") + kDamaged);
  EXPECT_EQ(with("[4]", "[0, 16, 16]"), std::string("m.safetensors: tensor `a`: data_offsets has 3 numbers, not 2") + kDamaged);
  EXPECT_EQ(with("[5]", "[0, 16]"),
            std::string("m.safetensors: tensor `a`: its shape needs 20 bytes, data_offsets give it 16") + kDamaged);
  EXPECT_EQ(with("[-4]", "[0, 16]"), std::string("m.safetensors header:1:36: unexpected -4") + kElsewhere);
  EXPECT_EQ(with("[4]", "[-16, 0]"), std::string("m.safetensors header:1:58: unexpected -16") + kElsewhere);
  EXPECT_EQ(with("[4.0]", "[0, 16]"), std::string("m.safetensors header:1:37: unexpected 4.0") + kElsewhere);
  EXPECT_EQ(with("[4]", "[9223372036854775800, 9223372036854775816]"),
            std::string("m.safetensors header:1:95: unexpected 9223372036854775816") + kElsewhere);
  EXPECT_EQ(with("[0]", "[9223372036854775800, 9223372036854775800]"),
            std::string("m.safetensors: tensor `a`: lies beyond the end of the file") + kDamaged);
  std::string ones = "[1";
  for (int i = 0; i < 32; ++i) ones += ",1";
  EXPECT_EQ(with(ones + "]", "[0, 4]"), std::string("m.safetensors header:1:99: more than 32 numbers in shape") + kElsewhere);
}

TEST_F(Safetensors, RefusesHeadersOfAnotherForm) {
  EXPECT_EQ(refusal_of("[]", 0),
            std::string("m.safetensors: not a safetensors file: its header does not begin with `{`") + kDamaged);
  EXPECT_THAT(refusal_of("{\"a\": ", 0), testing::StartsWith("m.safetensors header:1:6: not valid JSON: "));
  EXPECT_EQ(refusal_of(R"({"a": 1})", 0), std::string("m.safetensors header:1:8: unexpected 1") + kElsewhere);
  EXPECT_EQ(refusal_of(R"({"a": {}})", 0),
            std::string("m.safetensors: tensor `a`: needs dtype, shape and data_offsets") + kDamaged);
  EXPECT_EQ(refusal_of(R"({"a": {"dtype": "F32", "extra": 1}})", 0),
            std::string("m.safetensors header:1:24: unexpected key `extra`") + kElsewhere);
  EXPECT_EQ(refusal_of(R"({"a": {"shape": {"a": 1}}})", 0),
            std::string("m.safetensors header:1:17: unexpected object") + kElsewhere);
  EXPECT_EQ(refusal_of(R"({"a": {"dtype": [1]}})", 0), std::string("m.safetensors header:1:17: unexpected array") + kElsewhere);
  EXPECT_EQ(refusal_of(R"({"a": {"shape": 4}})", 0), std::string("m.safetensors header:1:18: unexpected 4") + kElsewhere);
  EXPECT_EQ(refusal_of(R"({"a": {"shape": [[4]]}})", 0),
            std::string("m.safetensors header:1:18: nested more than 3 deep") + kElsewhere);
  EXPECT_EQ(refusal_of("{\"a\": {\"shape\": " + std::string(1000000, '['), 0),
            std::string("m.safetensors header:1:18: nested more than 3 deep") + kElsewhere);
  EXPECT_EQ(refusal_of(R"({"__metadata__": {"a": {"b": "c"}}})", 0),
            std::string("m.safetensors header:1:24: unexpected object") + kElsewhere);
  EXPECT_THAT(refusal_of(R"({"a": {"dtype": "F31", "shape": [4], "data_offsets": [0, 16]}})", 16),
              testing::StartsWith("m.safetensors: tensor `a`: unknown dtype `F31`\n  fix: known ones are F64, F32, F16, BF16"));
}

// A header may have 100 MB; none of them may fill the memory or come back in a message.
TEST_F(Safetensors, RefusesWhatIsTooLong) {
  const std::string entry = R"(": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]}})";
  EXPECT_EQ(refusal_of("{\"" + std::string(512, 'n') + entry, 4), "accepted");
  EXPECT_EQ(refusal_of("{\"" + std::string(513, 'n') + entry, 4),
            std::string("m.safetensors header:1:2: a name of more than 512 bytes") + kElsewhere);
  EXPECT_EQ(refusal_of("{\"" + std::string(5 << 20, 'n') + entry, 4),
            std::string("m.safetensors header:1:4194306: more than 4194304 bytes in one key or value") + kElsewhere);
  EXPECT_EQ(refusal_of("{" + std::string(5 << 20, ' ') + "}", 0),
            std::string("m.safetensors header:1:4194306: more than 4194304 bytes in one key or value") + kElsewhere);
  EXPECT_EQ(refusal_of(R"({"a": {")" + std::string(300, 'k') + R"(": 1}})", 0),
            "m.safetensors header:1:8: unexpected key `" + std::string(100, 'k') + std::string("…`") + kElsewhere);
  std::string metadata;
  for (int i = 0; i <= 10000; ++i) metadata += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":\"\"";
  EXPECT_EQ(refusal_of("{\"__metadata__\":{" + metadata + "}}", 0),
            std::string("m.safetensors header:1:98908: more than 10000 entries in __metadata__") + kElsewhere);
}

TEST_F(Safetensors, RefusesDuplicateKeys) {
  const std::string entry = R"({"dtype": "U8", "shape": [4], "data_offsets": [0, 4]})";
  EXPECT_EQ(refusal_of("{\"a\": " + entry + ", \"a\": " + entry + "}", 4),
            std::string("m.safetensors header:1:62: duplicate key `a`") + kElsewhere);
  EXPECT_EQ(refusal_of(R"({"a": {"dtype": "U8", "dtype": "U8"}})", 4),
            std::string("m.safetensors header:1:23: duplicate key `dtype`") + kElsewhere);
  EXPECT_EQ(refusal_of(R"({"__metadata__": {"a": "b", "a": "b"}})", 4),
            std::string("m.safetensors header:1:29: duplicate key `a`") + kElsewhere);
}

TEST_F(Safetensors, RefusesWhatIsNoFile) {
  EXPECT_EQ(refusal([&] { read_safetensors_header(dir_ / "m.safetensors"); }),
            "m.safetensors: no such file\n  fix: get the file");
  std::filesystem::create_symlink("../blobs/0", dir_ / "m.safetensors");
  EXPECT_EQ(refusal([&] { read_safetensors_header(dir_ / "m.safetensors"); }),
            "m.safetensors: is a link to a file that does not exist\n  fix: get the file");
  EXPECT_EQ(refusal([&] { read_safetensors_header(dir_); }), "DIR: not a regular file\n  fix: put the file there");
}

}  // namespace
}  // namespace tp
