#!/usr/bin/env bash
# What tools/setup.sh refuses, and how it says so. Nothing is installed: every case ends before that.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

# expect_refusal NAME EXPECTED_STDERR -- OPTIONS...: exit code 2 and exactly this on stderr.
expect_refusal() {
  local name=$1 expected=$2 got code
  shift 3
  got=$("$root/tools/setup.sh" "$@" 2>&1 >/dev/null)
  code=$?
  if [ $code != 2 ] || [ "$got" != "$expected" ]; then
    printf 'FAILED: %s: exit code %s\n got: %s\nwant: %s\n' "$name" $code "$got" "$expected"
    failures=$((failures + 1))
  fi
}

# A folder that looks like libtorch of some version to CMake.
fake_libtorch() {
  mkdir -p "$1/share/cmake/Torch" "$1/lib"
  touch "$1/share/cmake/Torch/TorchConfig.cmake"
  printf 'set(PACKAGE_VERSION "%s")\n' "$2" >"$1/share/cmake/Torch/TorchConfigVersion.cmake"
}

expect_exit() {
  local name=$1 want=$2 code
  shift 2
  "$@" >"$scratch/out" 2>&1
  code=$?
  [ $code = "$want" ] || { echo "FAILED: $name: exit code $code, want $want: $(cat "$scratch/out")"; failures=$((failures + 1)); }
}

expect_refusal "unknown option" "setup: error: unknown option --tourch
  fix: tools/setup.sh --help lists the options" -- --tourch

expect_refusal "no libtorch there" "setup: error: $scratch/nothing: no TorchConfig.cmake in it
  fix: name the folder of an unpacked libtorch or of a torch Python package" -- --torch "$scratch/nothing"

fake_libtorch "$scratch/old" 2.6.0
expect_refusal "old libtorch" "setup: error: $scratch/old: this libtorch cannot be used: it is version 2.6.0 and tprun needs 2.7 or newer
  fix: name another one, or none to get 2.13.0 into .venv" -- --torch "$scratch/old"

if ! command -v nvcc >/dev/null; then
  fake_libtorch "$scratch/cuda" 2.13.0
  touch "$scratch/cuda/lib/libtorch_cuda.so"
  expect_refusal "CUDA build" "setup: error: $scratch/cuda: this libtorch cannot be used: it is a CUDA build and no CUDA toolkit (nvcc) is installed, which CMake needs to link it
  fix: name another one, or none to get 2.13.0 into .venv" -- --torch="$scratch/cuda"
fi

# Commands of the system replaced by ones that fail in a chosen way.
stand_in() {
  mkdir -p "$scratch/bin"
  printf '#!/bin/sh\n%s\n' "$2" >"$scratch/bin/$1"
  chmod +x "$scratch/bin/$1"
}
packages=$(sed -n '/^packages=(/,/)/p' "$root/tools/setup.sh" | tr -d '\n' | sed 's/^packages=(//; s/)$//; s/  */ /g')
stand_in dpkg-query 'exit 1'
stand_in id 'echo 1000'
system_path=$PATH
PATH=$scratch/bin:$PATH
expect_refusal "not root" "setup: error: these packages are missing and only root can install them: $packages
  fix: sudo sh -c 'apt-get update && apt-get install --no-install-recommends $packages'" --
stand_in id 'echo 0'
stand_in apt-get 'echo "Could not resolve the mirror"; exit 100'
expect_refusal "no network" "setup: installing with apt-get: $packages
Could not resolve the mirror
setup: error: apt-get could not install $packages
  fix: see $root/build/apt.log; without network, install them from a local mirror: apt-get update && apt-get install --no-install-recommends $packages" --
PATH=$system_path

report() { printf '{"install": [%s]}' "$1" >"$scratch/report.json"; }
item() { printf '{"metadata": {"name": "%s", "version": "%s"}}' "$1" "$2"; }
needs_cuda=(python3 "$root/tools/torch_wheel.py" --needs-cuda "$scratch/report.json")
report "$(item torch 2.13.0+cpu), $(item filelock 3.0)"
expect_exit "CPU wheel" 1 "${needs_cuda[@]}"
report "$(item torch 2.13.0), $(item sympy 1.14)"
expect_exit "CPU wheel of another platform" 1 "${needs_cuda[@]}"
report "$(item torch 2.13.0), $(item nvidia-cublas-cu12 12.8), $(item triton 3.4)"
expect_exit "CUDA wheel by its packages" 0 "${needs_cuda[@]}"
report "$(item torch 2.13.0+cu130)"
expect_exit "CUDA wheel by its version" 0 "${needs_cuda[@]}"

[ $failures = 0 ] && echo "all good"
exit $((failures > 0))
