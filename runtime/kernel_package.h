#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tp {

// What a variant is for, or what an operation is: numbers in the shortest form ("1e-05"), words as they are.
using KernelMatch = std::map<std::string, std::string>;

// A number as KernelMatch holds it.
std::string match_number(double value);

// An operation of ops.h that a kernel may replace, and the parameters that tell which of its forms a variant is for.
struct KernelOp {
  std::string name;
  std::vector<std::string> parameters;
};
const std::vector<KernelOp>& kernel_ops();

struct KernelVariant {
  std::string platform;  // "tpu" or "cpu": of the plugin that runs it
  KernelMatch match;
  std::string file;       // within the package
  std::string symbol;     // of the function in it
  std::string signature;  // normalized
  std::string sha256;     // of the file
};

// A directory with kernel.yaml and fragments (docs/kernels.md).
struct KernelPackage {
  std::filesystem::path dir;
  std::string name, version, license;
  std::string op;  // that it replaces
  std::string jax;
  int64_t mosaic = 0;       // version of Mosaic in its fragments for TPU; 0 = has none
  std::string min_libtpu;  // "0.0.42"; empty = any
  std::vector<KernelVariant> variants;
};

// Reads kernel.yaml. Throws Error with the place: what is missing, unknown or of the wrong kind, an operation or parameter
// that does not exist (with near names), two variants for the same thing or with the same symbol.
KernelPackage read_kernel_package(const std::filesystem::path& dir);

// The variant's text, after a look at its digest, its functions and its signature. Throws Error.
std::string variant_text(const KernelPackage& package, const KernelVariant& variant);

// Throws Error when libtpu of this version ("0.0.52") cannot read the package's kernels for TPU.
void require_libtpu_for(const KernelPackage& package, const std::string& libtpu_version);

}  // namespace tp
