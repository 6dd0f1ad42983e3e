#pragma once

#include <string>

namespace tp {

// A kernel as StableHLO text: a private function and the private functions that it calls. It is put into a program as it is;
// types are never rewritten, since a kernel with other row counts than it was written for compiles and computes nonsense.
struct KernelFragment {
  std::string symbol;     // of the function to call
  std::string signature;  // its type, normalized: "(tensor<1x64xf32>,tensor<64xf32>)->tensor<1x64xf32>"
  std::string text;
};

// Blanks removed, so that signatures of different writers compare.
std::string normalized_signature(const std::string& signature);

// Reads a fragment of `platform` ("tpu", "cpu") and checks all that linking relies on: nothing but private functions named
// SYMBOL or SYMBOL__…, no call of anything else, custom calls only of a target that the platform may have. Throws Error{where}.
KernelFragment parse_fragment(const std::string& text, const std::string& symbol, const std::string& platform,
                              const std::string& where);

}  // namespace tp
