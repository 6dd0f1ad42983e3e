#!/usr/bin/env bash
# Sets up, builds, installs and runs all tests.
#
#   tests/run.sh [--torch DIR] [--allow-cuda] [--no-fuzz] [--fuzz-seconds N] [-- options of ctest]
#
#   -- -L unit          only the tests with this label (tests/README.md has the list), without building the fuzz targets
#   --no-fuzz           leave out the fuzz targets, which need clang and run 60 s each
#   --fuzz-seconds N    run each fuzz target for N seconds
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

fuzz=yes fuzz_seconds=60 setup=(--clients --clusters) ctest=()
while [ $# -gt 0 ]; do
  case $1 in
    --no-fuzz) fuzz=no; shift ;;
    --fuzz-seconds) fuzz_seconds=$2; shift 2 ;;
    --torch) setup+=(--torch "$2"); shift 2 ;;
    --torch=* | --allow-cuda) setup+=("$1"); shift ;;
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; exit 0 ;;
    --) shift; ctest=("$@"); break ;;
    *) echo "tests/run.sh: unknown option $1; see --help" >&2; exit 2 ;;
  esac
done
[ ! -d tests/fuzz ] && fuzz=no
[ $fuzz = no ] || setup+=(--fuzz)
if [ "$(id -u)" = 0 ]; then
  echo "tests: running as root: the tests start Open MPI with --allow-run-as-root" >&2
fi

tools/build.sh --all "${setup[@]}"
if [ $fuzz = no ]; then
  ctest+=(-LE fuzz)
elif [ ${#ctest[@]} = 0 ]; then
  tools/build_fuzz.sh "$fuzz_seconds"
fi
exec ctest --test-dir build --output-on-failure --no-tests=error -j "$(nproc)" "${ctest[@]}" </dev/null
