#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "sharding/kernel_ops.h"

namespace tp {

// What a variant is for, or what an operation is: numbers in the shortest form ("1e-05"), words as they are.
using KernelMatch = std::map<std::string, std::string>;

// A number as KernelMatch holds it.
std::string match_number(double value);

// The types of the operands, or of the results, of a normalized signature.
std::vector<std::string> operand_types(const std::string& signature);
std::vector<std::string> result_types(const std::string& signature);

struct KernelVariant {
  std::string platform;  // "tpu" or "cpu": of the plugin that runs it
  KernelMatch match;
  std::string file;            // within the package
  std::string symbol;          // of the function in it
  std::string signature;       // normalized
  std::string sha256;          // of the file
  std::map<int, int> aliases;  // operands that it writes in place, and the result that each becomes
};

// A directory with kernel.yaml and fragments, or with torch libraries as kernel-builder lays them out in build/, or both
// (docs/kernels.md). One without kernel.yaml replaces the operation that has usual names of operators.
struct KernelPackage {
  std::filesystem::path dir;
  std::string name, version, license;
  std::string op;  // that it replaces
  std::string jax;
  int64_t mosaic = 0;      // version of Mosaic in its fragments for TPU; 0 = has none
  std::string min_libtpu;  // "0.0.42"; empty = any
  std::vector<KernelVariant> variants;
  std::vector<std::string> builds;  // names of the directories in build/
  std::string operator_name;        // of the operator in their library; empty: one of the usual names
};

// Reads kernel.yaml, or the metadata.json of a build where there is none. Throws Error with the place: what is missing, unknown
// or of the wrong kind, an operation or parameter that does not exist (with near names), two variants for the same thing or
// with the same symbol.
KernelPackage read_kernel_package(const std::filesystem::path& dir);

// The variant's text, after a look at its digest, its functions and its signature. Throws Error.
std::string variant_text(const KernelPackage& package, const KernelVariant& variant);

// Throws Error when libtpu of this version ("0.0.52") cannot read the package's kernels for TPU.
void require_libtpu_for(const KernelPackage& package, const std::string& libtpu_version);

}  // namespace tp
