#include "runtime/kernel_set.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "runtime/sha256.h"
#include "sharding/error.h"

namespace tp {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFragment = "func.func private @k(%a: tensor<1x8xf32>) -> tensor<1x8xf32> {\n  return %a : tensor<1x8xf32>\n}\n";

// A package of one variant for CPU plugins whose function is @k.
std::string package(const std::string& name, const std::string& op, const std::string& match) {
  const fs::path dir = fs::path(testing::TempDir()) / name;
  fs::create_directories(dir);
  std::ofstream(dir / "k.mlir") << kFragment;
  std::ofstream(dir / "kernel.yaml") << "schema: 1\nname: " << name << "\nversion: 1\nlicense: Apache-2.0\nreplaces: " << op
                                     << "\nvariants:\n  - platform: cpu\n    match: {" << match
                                     << "}\n    file: k.mlir\n    symbol: k\n"
                                     << "    signature: \"(tensor<1x8xf32>) -> tensor<1x8xf32>\"\n    sha256: "
                                     << sha256_hex(kFragment) << "\n";
  return dir;
}

const KernelMatch kNorm{{"kind", "rms"}, {"tokens", "1"}, {"size", "8"}, {"dtype", "float32"}, {"eps", "1e-06"}};

std::string norm_package() {
  return package("norm_package", "norm", "kind: rms, tokens: 1, size: 8, dtype: float32, eps: 0.000001");
}

TEST(KernelSet, HasAKernelForExactlyItsVariant) {
  const KernelSet set({{norm_package(), true}}, "cpu");
  ASSERT_NE(set.find("norm", kNorm), nullptr);
  EXPECT_EQ(set.find("norm", kNorm)->symbol, "k");
  KernelMatch other = kNorm;
  other["tokens"] = "2";
  EXPECT_EQ(set.find("norm", other), nullptr);
  EXPECT_EQ(set.find("decode_attention", kNorm), nullptr);
  // Its variants are for another platform: nothing is linked.
  EXPECT_EQ(KernelSet({{norm_package(), true}}, "tpu").find("norm", kNorm), nullptr);
}

TEST(KernelSet, RefusesWhatNoVariantFits) {
  const KernelSet set({{norm_package(), false}}, "tpu");
  try {
    set.find("norm", kNorm);
    FAIL() << "found";
  } catch (const Error& error) {
    EXPECT_EQ(error.text(), norm_package() +
                                "/kernel.yaml: has no variant for tpu of norm {dtype: float32, eps: 1e-06, kind: rms, size: 8, tokens: 1}\n"
                                "  fix: export one, or allow the built-in operation in a plan: kernels: {norm: {kernel: " +
                                norm_package() + ", fallback: builtin}}");
  }
}

TEST(KernelSet, RefusesASymbolOfTwoPackages) {
  const std::string attention = package(
      "attention_package", "decode_attention", "rows: 1, heads: 1, kv_heads: 1, head_dim: 8, cache_len: 1, dtype: float32, scale: 1");
  try {
    KernelSet({{norm_package(), false}, {attention, false}}, "cpu");
    FAIL() << "taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.text(), attention + "/kernel.yaml: has the symbol @k, which " + norm_package() +
                                " has too\n  fix: export one of them under another name");
  }
}

}  // namespace
}  // namespace tp
