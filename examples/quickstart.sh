#!/usr/bin/env bash
# From nothing to text: sets up, builds, installs, then the model in examples/tiny writes with 1, 2 and 4 ranks.
#
#   examples/quickstart.sh [options of tools/setup.sh, such as --torch DIR]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

if [ "${1:-}" = -h ] || [ "${1:-}" = --help ]; then
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
  exit 0
fi
tools/build.sh "$@"

tprun=(build/install/bin/tprun --quiet --device cpu)
if [ "$(id -u)" = 0 ]; then
  echo "quickstart: running as root: passing --allow-run-as-root, which Open MPI asks for" >&2
  tprun+=(--allow-run-as-root)
fi

prompt="The French Bread Law states"
mkdir -p build/quickstart
for ranks in 1 2 4; do
  command=("${tprun[@]}" --nproc-per-node "$ranks" generate --model examples/tiny --max-new-tokens 200)
  printf '\n$ %s --prompt "%s"\n' "${command[*]}" "$prompt" >&2
  "${command[@]}" --prompt "$prompt" </dev/null | tee "build/quickstart/$ranks.txt"
  if [ ! -s "build/quickstart/$ranks.txt" ] || ! cmp -s "build/quickstart/$ranks.txt" build/quickstart/1.txt; then
    echo "quickstart: error: $ranks ranks wrote another text than 1" >&2
    exit 1
  fi
done
printf '\nquickstart: 1, 2 and 4 ranks wrote the same text\n' >&2
