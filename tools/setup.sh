#!/usr/bin/env bash
# Installs what tprun needs to build, and nothing that is already there: Debian packages, libtorch and PJRT plugins. Run it
# as often as you like. examples/quickstart.sh and tests/run.sh run it for you.
#
#   tools/setup.sh [--torch DIR] [--allow-cuda] [--fuzz] [--clients] [--clusters]
#
#   --torch DIR    use this libtorch: an unpacked libtorch, a `torch` Python package, or the folder of TorchConfig.cmake
#   --allow-cuda   take PyTorch even where pip would bring its CUDA build (several gigabytes)
#   --fuzz         also install clang with libFuzzer, for the fuzz targets
#   --clients      also install the `openai` client, for the tests of `tprun serve`
#   --clusters     also install SLURM and iproute2, for the examples that make a cluster of this machine; without them they
#                  are skipped
#
# libtorch is taken from the first of: --torch DIR, the environment's Torch_DIR, a torch that python3 can import, the project's
# own .venv. Leaves the folder of TorchConfig.cmake in build/torch_dir.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

torch_version=2.13.0
oldest_torch=2.7
openai_version=3.57.0
packages=(cmake ninja-build g++ pkg-config python3 python3-venv openmpi-bin libopenmpi-dev libboost-program-options-dev
  libyaml-cpp-dev nlohmann-json3-dev libpcre2-dev libutf8proc-dev libcpp-httplib-dev libedit-dev libssl-dev libgtest-dev libgmock-dev)

say() { echo "setup: $*" >&2; }
die() {
  echo "setup: error: $1" >&2
  shift
  printf '  fix: %s\n' "$@" >&2
  exit 2
}

cluster_packages=(slurm-wlm munge iproute2 procps)
named_torch= allow_cuda=no fuzz=no clients=no clusters=no
while [ $# -gt 0 ]; do
  case $1 in
    --torch) named_torch=${2:-}; [ -n "$named_torch" ] || die "--torch needs a folder" "--torch DIR"; shift 2 ;;
    --torch=*) named_torch=${1#*=}; shift ;;
    --allow-cuda) allow_cuda=yes; shift ;;
    --fuzz) fuzz=yes; shift ;;
    --clients) clients=yes; shift ;;
    --clusters) clusters=yes; shift ;;
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) die "unknown option $1" "tools/setup.sh --help lists the options" ;;
  esac
done

# --- Debian packages -----------------------------------------------------------------------------------------------------

# Those of the arguments that are not installed.
missing_packages() {
  local name
  for name in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || echo "$name"
  done
}

install_packages() {
  local missing
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  local by_hand="apt-get update && apt-get install --no-install-recommends ${missing[*]}"
  [ "$(id -u)" = 0 ] || die "these packages are missing and only root can install them: ${missing[*]}" "sudo sh -c '$by_hand'"
  say "installing with apt-get: ${missing[*]}"
  local log=$root/build/apt.log
  export DEBIAN_FRONTEND=noninteractive
  # The lists are absent in a fresh container and may name versions that are gone in an old one.
  if ! { apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
    tail -n 15 "$log" >&2
    die "apt-get could not install ${missing[*]}" "see $log; without network, install them from a local mirror: $by_hand"
  fi
}

install_fuzzer() {
  local runtime major
  install_packages clang
  runtime=$(clang++ -print-resource-dir)/lib/linux
  if ! compgen -G "$runtime/libclang_rt.fuzzer*.a" >/dev/null; then
    major=$(clang++ -dumpversion)
    install_packages "libclang-rt-${major%%.*}-dev"
  fi
}

mkdir -p "$root/build"
if command -v dpkg-query >/dev/null; then
  install_packages "${packages[@]}"
  [ $fuzz = no ] || install_fuzzer
  [ $clusters = no ] || (install_packages "${cluster_packages[@]}") || say "warning: the examples that need them will be skipped"
else
  say "no dpkg here: taking it that the equivalents of these Debian packages are installed: ${packages[*]}"
fi

# --- libtorch ------------------------------------------------------------------------------------------------------------

# The folder of TorchConfig.cmake for a folder that holds libtorch in one of the usual forms; nothing if there is none.
config_dir() {
  local dir
  for dir in "$1" "$1/share/cmake/Torch" "$1/torch/share/cmake/Torch" "$1/libtorch/share/cmake/Torch"; do
    if [ -f "$dir/TorchConfig.cmake" ]; then
      (cd "$dir" && pwd)
      return
    fi
  done
}

# Why the libtorch of a TorchConfig.cmake folder cannot be used; nothing if it can.
refusal() {
  local version newest
  version=$(sed -n 's/^set(PACKAGE_VERSION "\([0-9.]*\).*/\1/p' "$1/TorchConfigVersion.cmake" 2>/dev/null)
  [ -n "$version" ] || { echo "it does not tell its version"; return; }
  newest=$(printf '%s\n%s\n' "$version" "$oldest_torch" | sort -V | tail -n 1)
  [ "$newest" = "$version" ] || { echo "it is version $version and tprun needs $oldest_torch or newer"; return; }
  if [ -e "$1/../../../lib/libtorch_cuda.so" ] && ! command -v nvcc >/dev/null; then
    echo "it is a CUDA build and no CUDA toolkit (nvcc) is installed, which CMake needs to link it"
  fi
}

# Folder of the torch package that python3 would import, without importing it (which takes seconds).
importable_torch() {
  local python=$1
  "$python" -c 'import importlib.util as u; s = u.find_spec("torch"); print(s.submodule_search_locations[0] if s else "")' 2>/dev/null || true
}

# Makes the project's venv unless it is there.
make_venv() {
  local venv=$root/.venv log=$root/build/pip.log python=python3
  [ ! -x "$venv/bin/python" ] || return 0
  say "making a Python environment in .venv"
  "$python" -m venv "$venv" >"$log" 2>&1 || { python=/usr/bin/python3 && "$python" -m venv --clear "$venv" >>"$log" 2>&1; } ||
    die "python3 -m venv failed (see $log)" "install python3-venv, or name a libtorch with --torch DIR"
}

# Installs torch into the project's venv, after a look at what pip would bring.
install_torch() {
  local venv=$root/.venv log=$root/build/pip.log report=$root/build/pip-report.json
  make_venv
  # Older pips fetch whole wheels to learn what a package needs.
  if ! "$venv/bin/python" -c 'import pip, sys; sys.exit(tuple(map(int, pip.__version__.split(".")[:2])) < (23, 2))'; then
    "$venv/bin/python" -m pip install --quiet --upgrade pip >>"$log" 2>&1 || true
  fi
  say "asking pip what torch==$torch_version would bring"
  if ! "$venv/bin/python" -m pip install --dry-run --quiet --report "$report" "torch==$torch_version" >"$log" 2>&1 </dev/null; then
    tail -n 5 "$log" >&2
    die "pip cannot find torch==$torch_version for $("$venv/bin/python" --version)" \
      "check the network and pip's configuration (see $log), or name a libtorch with --torch DIR"
  fi
  if [ $allow_cuda = no ] && "$venv/bin/python" "$root/tools/torch_wheel.py" --needs-cuda "$report"; then
    die "pip would bring PyTorch's CUDA build here, several gigabytes that tprun has no use for" \
      "take PyTorch's CPU build: .venv/bin/pip install torch==$torch_version --index-url URL, with the URL that PyTorch's own \"Start Locally\" page shows for pip and CPU; then run this again" \
      "or download the C++ package (libtorch, CPU) from the same page, unpack it and pass --torch DIR" \
      "or pass --allow-cuda to take it all the same (linking it also needs the CUDA toolkit)"
  fi
  say "installing $("$venv/bin/python" "$root/tools/torch_wheel.py" --summary "$report") into .venv"
  if ! "$venv/bin/python" -m pip install --no-compile "torch==$torch_version" >"$log" 2>&1 </dev/null; then
    tail -n 5 "$log" >&2
    die "pip could not install torch==$torch_version" "see $log; or name a libtorch with --torch DIR"
  fi
}

# Sets torch_dir to the first libtorch that can be used, in the order that the head of this file gives.
find_torch() {
  local place reason
  if [ -n "$named_torch" ] || [ -n "${Torch_DIR:-}" ]; then
    place=${named_torch:-$Torch_DIR}
    torch_dir=$(config_dir "$place")
    [ -n "$torch_dir" ] || die "$place: no TorchConfig.cmake in it" "name the folder of an unpacked libtorch or of a torch Python package"
    reason=$(refusal "$torch_dir")
    [ -z "$reason" ] || die "$place: this libtorch cannot be used: $reason" "name another one, or none to get $torch_version into .venv"
    return
  fi
  place=$(importable_torch python3)
  if [ -n "$place" ]; then
    torch_dir=$(config_dir "$place")
    reason=$([ -n "$torch_dir" ] && refusal "$torch_dir" || echo "it has no TorchConfig.cmake")
    [ -n "$reason" ] || return 0
    say "passing over the torch in $place: $reason"
  fi
  own_torch || { install_torch && own_torch; } || die "the torch in .venv cannot be used: $reason" "remove .venv and run this again"
}

# The venv's torch, if it is there and good.
own_torch() {
  local place
  place=$(importable_torch "$root/.venv/bin/python")
  torch_dir=$([ -n "$place" ] && config_dir "$place" || true)
  reason="there is none"
  [ -n "$torch_dir" ] || return 1
  reason=$(refusal "$torch_dir")
  [ -z "$reason" ]
}

# --- PJRT plugins --------------------------------------------------------------------------------------------------------

# Installs what tools/pjrt_plugins.txt lists. Without it only `plan aot` and the tests of the TPU path are missing, so a
# failure is no reason to stop.
install_plugins() {
  local list=$root/tools/pjrt_plugins.txt log=$root/build/pip-plugins.log missing
  make_venv
  missing=$("$root/.venv/bin/python" - "$list" <<'PYTHON'
import importlib.metadata as metadata, sys
for line in open(sys.argv[1]):
    wanted = line.split("#")[0].strip()
    if not wanted: continue
    name, version = wanted.split("==")
    try: installed = metadata.version(name)
    except metadata.PackageNotFoundError: installed = None
    if installed != version: print(wanted)
PYTHON
  )
  [ -n "$missing" ] || return 0
  say "installing into .venv: $(echo $missing)"
  if ! "$root/.venv/bin/python" -m pip install --no-deps --no-compile $missing >"$log" 2>&1 </dev/null; then
    tail -n 3 "$log" >&2
    say "warning: pip could not install $(echo $missing): \`tprun plan aot\` and the tests of the TPU path will be missing (see $log)"
  fi
}

# --- clients of the server -------------------------------------------------------------------------------------------------

# In an environment of their own, so that what they need meets nothing else. Without them their tests are skipped.
install_clients() {
  local venv=$root/build/clients log=$root/build/pip-clients.log
  [ "$("$venv/bin/python" -c 'import openai; print(openai.__version__)' 2>/dev/null)" != "$openai_version" ] || return 0
  say "installing into build/clients: openai==$openai_version"
  if ! { python3 -m venv --clear "$venv" && "$venv/bin/python" -m pip install --no-compile "openai==$openai_version"; } >"$log" 2>&1 </dev/null; then
    tail -n 3 "$log" >&2
    say "warning: pip could not install openai==$openai_version: the tests of \`tprun serve\` with it are skipped (see $log)"
  fi
}

find_torch
install_plugins
[ $clients = no ] || install_clients
echo "$torch_dir" >"$root/build/torch_dir"
say "ready; libtorch $(sed -n 's/^set(PACKAGE_VERSION "\([0-9.]*\).*/\1/p' "$torch_dir/TorchConfigVersion.cmake") of ${torch_dir%/share/cmake/Torch}"
