#!/usr/bin/env bash
# Sets up, builds preset release into build/ and installs into build/install.
#
#   tools/build.sh [--all] [options of tools/setup.sh]
#
#   --all   build the tests too, not only what gets installed
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

target=product
if [ "${1:-}" = --all ]; then
  target=all
  shift
fi
tools/setup.sh "$@"

launcher=()
if command -v ccache >/dev/null; then
  launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache)
fi
# One compiler needs up to 1.5 GB for a file that includes ATen.
memory_kb=$(awk '/^MemAvailable/ {print $2}' /proc/meminfo)
jobs=$(nproc)
by_memory=$((memory_kb / 1500000))
[ "$by_memory" -ge 1 ] || by_memory=1
[ "$jobs" -le "$by_memory" ] || jobs=$by_memory

echo "build: preset release, $target, $jobs jobs" >&2
log=build/configure.log
if ! cmake --preset release -DTorch_DIR="$(cat build/torch_dir)" "${launcher[@]}" >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
cmake --build build --target "$target" -j "$jobs" >&2
cmake --install build >build/install.log
echo "build: installed into build/install" >&2
