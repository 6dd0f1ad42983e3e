#!/usr/bin/env bash
# Builds the fuzz targets with clang into build/fuzz; ctest runs each of them for the given number of seconds.
#
#   tools/build_fuzz.sh [SECONDS]      after tools/setup.sh --fuzz
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

launcher=()
if command -v ccache >/dev/null; then
  launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
mkdir -p build/fuzz
if ! cmake -S . -B build/fuzz -G Ninja -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DTPRUN_FUZZ=ON -DTPRUN_TESTS=OFF \
  -DTPRUN_FUZZ_SECONDS="${1:-60}" -DTorch_DIR="$(cat build/torch_dir)" "${launcher[@]}" >build/fuzz/configure.log 2>&1; then
  cat build/fuzz/configure.log >&2
  exit 1
fi
cmake --build build/fuzz --target fuzz_targets -j "$(nproc)" >&2
