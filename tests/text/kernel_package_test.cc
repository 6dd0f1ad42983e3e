// Kernel packages: what is read, and what is refused with which words.
#include "runtime/kernel_package.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "runtime/kernel_fragment.h"
#include "runtime/sha256.h"
#include "sharding/error.h"

namespace tp {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kFragment =
    "func.func private @k(%arg0: tensor<1x8xf32>, %arg1: tensor<8xf32>) -> tensor<1x8xf32> {\n"
    "  %0 = call @k__half(%arg0) : (tensor<1x8xf32>) -> tensor<1x8xf32>\n"
    "  return %0 : tensor<1x8xf32>\n"
    "}\n"
    "func.func private @k__half(%arg0: tensor<1x8xf32>) -> tensor<1x8xf32> {\n"
    "  return %arg0 : tensor<1x8xf32>\n"
    "}\n";
constexpr const char* kSignature = "(tensor<1x8xf32>, tensor<8xf32>) -> tensor<1x8xf32>";

std::string refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.text();
  }
  return "taken";
}

std::string fragment_refusal(const std::string& text, const std::string& platform = "cpu") {
  return refusal([&] { parse_fragment(text, "k", platform, "f.mlir"); });
}

TEST(KernelFragment, IsAFunctionAndThoseThatItCalls) {
  const KernelFragment fragment = parse_fragment(kFragment, "k", "cpu", "f.mlir");
  EXPECT_EQ(fragment.signature, "(tensor<1x8xf32>,tensor<8xf32>)->tensor<1x8xf32>");
  EXPECT_EQ(fragment.text, kFragment);
}

TEST(KernelFragment, CallsNothingElse) {
  EXPECT_EQ(fragment_refusal("func.func private @k(%a: tensor<f32>) -> tensor<f32> { %0 = call @main(%a) : x }\n"),
            "f.mlir: uses @main, which is none of its own\n  fix: its functions are @k and @k__…");
  EXPECT_EQ(fragment_refusal("func.func private @other(%a: tensor<f32>) -> tensor<f32> { }\n"),
            "f.mlir: has 0 functions @k, not 1");
  EXPECT_EQ(fragment_refusal("func.func public @k(%a: tensor<f32>) -> tensor<f32> { }\n"),
            "f.mlir: holds something else than private functions");
  EXPECT_EQ(fragment_refusal("module { func.func private @k(%a: tensor<f32>) -> tensor<f32> { } }\n"),
            "f.mlir: holds something else than private functions");
  EXPECT_EQ(fragment_refusal(std::string(kFragment) + "}"), "f.mlir: a brace too many");
  EXPECT_EQ(fragment_refusal("func.func private @k(%a: tensor<f32>) -> tensor<f32> {\n"), "f.mlir: a function does not end");
}

TEST(KernelFragment, HasCustomCallsOfItsPlatformAlone) {
  const auto calling = [](const std::string& call) {
    return "func.func private @k(%a: tensor<f32>) -> tensor<f32> {\n  %0 = " + call + "\n}\n";
  };
  const std::string mosaic =
      calling("stablehlo.custom_call @tpu_custom_call(%a) {backend_config = \"{\\22a\\22: \\\"@x } { //\"}");
  EXPECT_EQ(fragment_refusal(mosaic, "tpu"), "taken");
  EXPECT_EQ(fragment_refusal(mosaic, "cpu"),
            "f.mlir: calls `tpu_custom_call`, which a kernel for cpu must not\n  fix: write it without custom calls");
  EXPECT_EQ(fragment_refusal(calling("stablehlo.custom_call @xla_python_cpu_callback(%a)"), "tpu"),
            "f.mlir: calls `xla_python_cpu_callback`, which a kernel for tpu must not\n"
            "  fix: kernels may call `tpu_custom_call` alone");
  EXPECT_THAT(fragment_refusal(calling("\"stablehlo.custom_call\"(%a) {call_target_name = \"evil\"}"), "tpu"),
              HasSubstr("a custom call is written in the generic form"));
}

// MLIR takes names of operations and attributes in quotes, any byte of them as two digits, and comments anywhere.
TEST(KernelFragment, HasNoCustomCallInQuotes) {
  const auto with = [](const std::string& operation) {
    return fragment_refusal("func.func private @k(%a: tensor<f32>) -> tensor<f32> {\n  %0 = " + operation + "\n}\n");
  };
  const std::string generic =
      "f.mlir: a custom call is written in the generic form\n  fix: export it again with tools/export_kernel.py";
  EXPECT_EQ(with("\"stablehlo.custom_call\"(%a) {\"call_target_name\" = \"evil\"} : (tensor<f32>) -> tensor<f32>"), generic);
  EXPECT_EQ(with("\"stablehlo.\\63ustom_call\"(%a) <{\"\\63all_target_name\" = \"evil\"}>"), generic);
  EXPECT_EQ(with("\"stablehlo.custom_call\" // loc(\n (%a)"), generic);
  EXPECT_EQ(with("stablehlo.custom_call @tpu_custom_call(%a) {\"call_target_name\" = \"evil\"}"), generic);
  EXPECT_EQ(with("\"func.call\"(%a) <{\"callee\" = @k}>"),
            "f.mlir: has the operation `func.call`, which is none of StableHLO\n"
            "  fix: export it again with tools/export_kernel.py");
  EXPECT_EQ(with("\"stablehlo.abs\"(%a) : (tensor<f32>) -> tensor<f32> loc(\"jit(f)/abs\"(\"f.py\":1:2))"), "taken");
}

class KernelPackageTest : public testing::Test {
 protected:
  void SetUp() override {
    // Tests run side by side.
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    dir_ = fs::path(testing::TempDir()) / (std::string("kernel_package_") + test->name());
    fs::remove_all(dir_);
    fs::create_directories(dir_);
    std::ofstream(dir_ / "k.mlir") << kFragment;
  }

  static std::string variant(const std::string& more = "",
                             const std::string& match = "kind: rms, tokens: 1, size: 8, dtype: float32, eps: 1e-06") {
    return "  - platform: cpu\n    match: {" + match + "}\n    file: k.mlir\n    symbol: k\n    signature: \"" + kSignature +
           "\"\n    sha256: " + sha256_hex(kFragment) + "\n" + more;
  }
  void write(const std::string& variants, const std::string& op = "norm", const std::string& more = "") {
    std::ofstream(dir_ / "kernel.yaml") << "schema: 1\nname: mine\nversion: 2\nlicense: Apache-2.0\nreplaces: " << op << "\n"
                                        << more << "variants:\n"
                                        << variants;
  }
  std::string package_refusal() {
    return refusal([&] {
      const KernelPackage package = read_kernel_package(dir_);
      for (const KernelVariant& one : package.variants) variant_text(package, one);
    });
  }
  std::string at(const std::string& place) const { return (dir_ / "kernel.yaml").string() + ":" + place; }

  fs::path dir_;
};

TEST_F(KernelPackageTest, IsRead) {
  write(variant(), "norm", "built_with: {jax: 0.10.2, mosaic: 11}\nmin_libtpu: 0.0.42\n");
  const KernelPackage package = read_kernel_package(dir_);
  EXPECT_EQ(package.name, "mine");
  EXPECT_EQ(package.op, "norm");
  EXPECT_EQ(package.mosaic, 11);
  ASSERT_EQ(package.variants.size(), 1U);
  const KernelMatch match{{"kind", "rms"}, {"tokens", "1"}, {"size", "8"}, {"dtype", "float32"}, {"eps", match_number(1e-6)}};
  EXPECT_EQ(package.variants[0].match, match);
  EXPECT_EQ(variant_text(package, package.variants[0]), kFragment);
}

TEST_F(KernelPackageTest, WithAnotherFileThanItSaysIsRefused) {
  write(variant());
  std::ofstream(dir_ / "k.mlir", std::ios::app) << "\n";
  EXPECT_EQ(package_refusal(), (dir_ / "k.mlir").string() + ": has the digest " + sha256_hex(std::string(kFragment) + "\n") +
                                   ", kernel.yaml says " + sha256_hex(kFragment) +
                                   "\n  fix: get the package again, or export it again with tools/export_kernel.py");
}

TEST_F(KernelPackageTest, WithAnotherSignatureThanItSaysIsRefused) {
  std::string text = variant();
  text.replace(text.find("tensor<1x8"), 10, "tensor<2x8");
  write(text);
  EXPECT_EQ(package_refusal(), (dir_ / "k.mlir").string() +
                                   ": @k is (tensor<1x8xf32>,tensor<8xf32>)->tensor<1x8xf32>, kernel.yaml says "
                                   "(tensor<2x8xf32>,tensor<8xf32>)->tensor<1x8xf32>\n"
                                   "  fix: export it again with tools/export_kernel.py");
}

TEST_F(KernelPackageTest, ForAnUnknownOperationIsRefused) {
  write(variant(), "norn");
  EXPECT_EQ(package_refusal(), at("5:11") + ": no operation `norn` can be replaced\n  fix: did you mean `norm`?");
}

TEST_F(KernelPackageTest, WithTheSameVariantOrSymbolTwiceIsRefused) {
  write(variant() + variant());
  EXPECT_EQ(package_refusal(), at("13:5") + ": is for the same as the variant of k.mlir");
  write(variant() + variant("", "kind: rms, tokens: 2, size: 8, dtype: float32, eps: 1e-06"));
  EXPECT_EQ(package_refusal(), at("16:13") + ": the variant of k.mlir has this symbol too");
}

TEST_F(KernelPackageTest, ThatLeavesAParameterOpenIsRefused) {
  write(variant("", "kind: rms, tokens: 1, size: 8, dtype: float32"));
  EXPECT_EQ(package_refusal(), at("8:12") + ": does not say which `eps` it is for");
  write(variant("", "kind: rms, tokens: 1, size: 8, dtype: float32, eps: 1e-06, epss: 1"));
  EXPECT_THAT(package_refusal(), HasSubstr(": unknown key `epss`\n  fix: did you mean `eps`?"));
}

// `signature` and `aliases` of a variant of append_attention.
TEST_F(KernelPackageTest, SaysWhichOperandsItWritesInPlace) {
  const std::string f = "tensor<1x8xf32>", c = "tensor<1x1x4x8xf32>", i = "tensor<1xi32>";
  const auto with = [&](const std::string& aliases) {
    write(
        "  - platform: cpu\n    match: {rows: 1, heads: 1, kv_heads: 1, head_dim: 8, cache_len: 4, dtype: float32, scale: 1}\n"
        "    file: k.mlir\n    symbol: k\n    sha256: 0\n    signature: \"(" +
            f + ", " + f + ", " + f + ", " + c + ", " + c + ", " + i + ", " + i + ") -> (" + f + ", " + c + ", " + c + ")\"\n" +
            aliases,
        "append_attention");
    return refusal([&] { read_kernel_package(dir_); });
  };
  EXPECT_EQ(with("    aliases: {3: 1, 4: 2}\n"), "taken");
  EXPECT_EQ(read_kernel_package(dir_).variants[0].aliases, (std::map<int, int>{{3, 1}, {4, 2}}));
  const std::string fix = "writes other operands in place than append_attention does\n  fix: aliases: {3: 1, 4: 2}";
  EXPECT_EQ(with(""), at("7:5") + ": " + fix);
  EXPECT_EQ(with("    aliases: {3: 1, 4: 1}\n"), at("13:14") + ": " + fix);
  EXPECT_EQ(with("    aliases: {0: 1}\n"), at("13:15") + ": operand 0 and result 1 are of different types");
  EXPECT_EQ(with("    aliases: {7: 1}\n"), at("13:15") + ": `7` is none of 7 in the signature");
  EXPECT_EQ(with("    aliases: {3: 1, 3: 2}\n"), at("13:21") + ": operand 3 is there twice");
  write(variant("    aliases: {0: 0}\n"));
  EXPECT_EQ(package_refusal(), at("13:14") + ": writes other operands in place than norm does\n  fix: leave `aliases` out");
}

TEST_F(KernelPackageTest, ForANewerLibtpuIsRefused) {
  write(variant(), "norm", "built_with: {jax: 0.10.2, mosaic: 12}\n");
  const KernelPackage package = read_kernel_package(dir_);
  EXPECT_EQ(refusal([&] { require_libtpu_for(package, "0.0.52"); }),
            (dir_ / "kernel.yaml").string() +
                ": its kernels are Mosaic of version 12, libtpu 0.0.52 reads up to 11\n"
                "  fix: a newer libtpu, or export them again with an older jax");
  write(variant(), "norm", "built_with: {jax: 0.10.2, mosaic: 9}\nmin_libtpu: 0.0.42\n");
  EXPECT_EQ(refusal([&] { require_libtpu_for(read_kernel_package(dir_), "0.0.52"); }), "taken");
  EXPECT_EQ(refusal([&] { require_libtpu_for(read_kernel_package(dir_), "0.0.40"); }),
            (dir_ / "kernel.yaml").string() + ": needs libtpu 0.0.42, this is 0.0.40\n  fix: pip install --upgrade libtpu");
  write(variant(), "norm", "min_libtpu: newest\n");
  EXPECT_EQ(package_refusal(), at("6:13: `newest` is not a version\n  fix: three numbers, as in 0.0.42"));
}

}  // namespace
}  // namespace tp
