#!/usr/bin/env bash
# The real torch_tpu on the fake slice: what tprun puts into the environment is what it needs, and without it it refuses.
# Says "skipped" and returns 77 where the wheel cannot be installed.
# usage: torch_tpu.sh TPRUN FAKE_SLICE_PLUGIN PROJECT VENV   VENV is made, and kept for the next time
set -u
tprun=$1 plugin=$2 project=$3 venv=$4
script=$project/tests/fake_slice/torch_tpu_ranks.py
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

skip() {
  echo "skipped: $*"
  exit 77
}

fail() {
  echo "FAIL: $*"
  cat "$work/out" "$work/err"
  failures=$((failures + 1))
}

# torch and libtpu come from the project's own venv, the rest from pip.
if [ ! -e "$venv/ready" ]; then
  packages=$(echo "$project"/.venv/lib/python3*/site-packages)
  [ -d "$packages/torch" ] && [ -d "$packages/libtpu" ] || skip "torch and libtpu are not in $packages"
  rm -rf "$venv"
  "$project/.venv/bin/python" -m venv --without-pip "$venv" || skip "no venv could be made"
  own=$(echo "$venv"/lib/python3*/site-packages)
  echo "$packages" >"$own/project.pth"
  "$venv/bin/python" -m pip install --quiet --no-compile --no-deps torch_tpu==0.2.0 numpy absl-py portpicker psutil frozendict \
    immutabledict pyzmq >"$work/pip" 2>&1 </dev/null || skip "pip could not install torch_tpu==0.2.0: $(tail -n 1 "$work/pip")"
  : >"$venv/ready"
fi

timeout 250 "$tprun" --nproc-per-node 4 --device tpu --pjrt-plugin "$plugin" -- "$venv/bin/python" "$script" \
  >"$work/out" 2>"$work/err" </dev/null || fail "code $?"
parts='[[0.0, 0.0], [1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]'
for rank in 0 1 2 3; do
  cat "$work/out" "$work/err" | grep -qF "rank $rank sum [10.0, 10.0, 10.0, 10.0] parts $parts" || fail "rank $rank"
done
[ "$(cat "$work/out")" = "rank 0 sum [10.0, 10.0, 10.0, 10.0] parts $parts" ] || fail "standard output is not rank 0's alone"

# The same program with torchrun's variables alone.
env -u TORCH_TPU_TOPOLOGY -u TORCH_TPU_SLICEBUILDER_ADDRESSES RANK=0 LOCAL_RANK=0 WORLD_SIZE=1 LOCAL_WORLD_SIZE=1 GROUP_RANK=0 MASTER_ADDR=127.0.0.1 \
  MASTER_PORT=1 TPU_LIBRARY_PATH="$plugin" timeout 120 "$venv/bin/python" "$script" >"$work/out" 2>"$work/err" </dev/null &&
  fail "it ran without tprun's environment"
grep -qF "missing required environment variables" "$work/err" || fail "torch_tpu does not tell what is missing"

[ $failures = 0 ] && echo "torch_tpu runs under tprun"
exit $((failures > 0))
