#pragma once

#include <string_view>
#include <vector>

namespace tp::cpu {

// Instruction sets that the kernels are written for. kPlain is portable C++ and runs everywhere; the last two are for sums of
// integers alone.
enum class Isa { kPlain, kAvx2, kAvx512, kAvx512Bf16, kAmx, kAvxVnni, kAvx512Vnni };
inline constexpr int kIsaCount = 7;

// What this machine and its operating system can run (cpuid and xgetbv; AMX also needs the kernel's permission, which is
// asked for at the first call).
struct CpuFeatures {
  bool avx2 = false;         // with FMA and F16C
  bool avx512 = false;       // F, BW, DQ, VL
  bool avx512_bf16 = false;  // vdpbf16ps
  bool avx_vnni = false;     // vpdpbusd in 32 bytes
  bool avx512_vnni = false;  // vpdpbusd in 64 bytes
  bool amx_bf16 = false;     // tdpbf16ps
};

const CpuFeatures& cpu_features();

// "plain", "avx2", "avx512", "avx512_bf16", "amx_bf16", "avx_vnni", "avx512_vnni".
std::string_view isa_name(Isa isa);
bool isa_available(Isa isa);
// The newest for float32 vectors: kPlain, kAvx2 or kAvx512.
Isa widest_vectors();
// Those that this machine can run, kPlain first.
std::vector<Isa> available_isas();

}  // namespace tp::cpu
