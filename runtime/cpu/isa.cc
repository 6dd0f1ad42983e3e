#include "runtime/cpu/isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace tp::cpu {
namespace {

#if defined(__x86_64__)
unsigned long long xcr0() {
  unsigned low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<unsigned long long>(high) << 32) | low;
}

// Linux hands out the 8 KiB of tile state only to processes that ask (arch_prctl(2), ARCH_REQ_XCOMP_PERM).
bool tile_state_permitted() {
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

bool bit(unsigned value, int index) {
  return ((value >> index) & 1U) != 0;
}

CpuFeatures detect() {
  CpuFeatures found;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return found;
  const bool osxsave = bit(c, 27), fma = bit(c, 12), f16c = bit(c, 29);
  if (!osxsave) return found;
  const unsigned long long state = xcr0();
  const bool ymm = (state & 0x6) == 0x6, zmm = (state & 0xe6) == 0xe6, tiles = (state & 0x60000) == 0x60000;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return found;
  const unsigned sub_leaves = a;
  found.avx2 = ymm && fma && f16c && bit(b, 5);
  found.avx512 = found.avx2 && zmm && bit(b, 16) && bit(b, 17) && bit(b, 30) && bit(b, 31);
  found.avx512_vnni = found.avx512 && bit(c, 11);
  const bool amx = found.avx512 && tiles && bit(d, 24) && bit(d, 22);
  if (sub_leaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) {
    found.avx512_bf16 = found.avx512 && bit(a, 5);
    found.avx_vnni = found.avx2 && bit(a, 4);
  }
  found.amx_bf16 = amx && tile_state_permitted();
  return found;
}
#else
CpuFeatures detect() {
  return {};
}
#endif

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

std::string_view isa_name(Isa isa) {
  switch (isa) {
    case Isa::kPlain:
      return "plain";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAvx512Bf16:
      return "avx512_bf16";
    case Isa::kAmx:
      return "amx_bf16";
    case Isa::kAvxVnni:
      return "avx_vnni";
    case Isa::kAvx512Vnni:
      return "avx512_vnni";
  }
  return "?";
}

bool isa_available(Isa isa) {
  const CpuFeatures& features = cpu_features();
  switch (isa) {
    case Isa::kPlain:
      return true;
    case Isa::kAvx2:
      return features.avx2;
    case Isa::kAvx512:
      return features.avx512;
    case Isa::kAvx512Bf16:
      return features.avx512_bf16;
    case Isa::kAmx:
      return features.amx_bf16;
    case Isa::kAvxVnni:
      return features.avx_vnni;
    case Isa::kAvx512Vnni:
      return features.avx512_vnni;
  }
  return false;
}

Isa widest_vectors() {
  for (Isa isa : {Isa::kAvx512, Isa::kAvx2})
    if (isa_available(isa)) return isa;
  return Isa::kPlain;
}

std::vector<Isa> available_isas() {
  std::vector<Isa> found;
  for (int i = 0; i < kIsaCount; ++i) {
    if (isa_available(static_cast<Isa>(i))) found.push_back(static_cast<Isa>(i));
  }
  return found;
}

}  // namespace tp::cpu
