#!/usr/bin/env bash
# The embedded model through the command line, as the README shows it: golden tokens and text on 1, 2 and 4 ranks.
#
#   examples_test.sh TPRUN
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"

tprun=("$1" --device cpu --quiet)
if [ "$(id -u)" = 0 ]; then
  tprun+=(--allow-run-as-root)
fi
wanted=$(python3 -c 'import json; case = json.load(open("examples/tiny/golden.json"))["cases"][0]; print(case["prompt"] + case["text"])')
for ranks in 1 2 4; do
  generate=("${tprun[@]}" --nproc-per-node "$ranks" generate --model examples/tiny)
  got=$("${generate[@]}" --prompt "The French Bread Law states" --max-new-tokens 200 </dev/null)
  if [ "$got" != "$wanted" ]; then
    printf '%s ranks wrote\n%s\nnot\n%s\n' "$ranks" "$got" "$wanted"
    exit 1
  fi
  python3 examples/check_golden.py examples/tiny/golden.json -- "${generate[@]}" </dev/null
done
