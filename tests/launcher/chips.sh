#!/usr/bin/env bash
# Models on chips through the command line: the fake slice writes what the CPU writes; what chips cannot do is refused.
# usage: chips.sh TPRUN FAKE_SLICE_PLUGIN MODEL
set -u
tprun=$1 plugin=$2 model=$3
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
  echo "FAIL: $*"
  cat "$work/err"
  failures=$((failures + 1))
}

refused() {
  local message=$1
  shift
  timeout 60 "$tprun" "$@" >"$work/out" 2>"$work/err" </dev/null
  local code=$?
  [ $code = 2 ] && grep -qF -- "$message" "$work/err" && [ ! -s "$work/out" ] || fail "$*: code $code, or no '$message'"
}

chips=(--device tpu --pjrt-plugin "$plugin")
prompt=(generate --model "$model" --dtype float32 --prompt "A chip is" --max-new-tokens 12)
"$tprun" --device cpu "${prompt[@]}" >"$work/cpu" 2>"$work/err" </dev/null || fail "cpu: code $?"
for ranks in 1 2; do
  timeout 120 "$tprun" "${chips[@]}" -n $ranks "${prompt[@]}" --compile-cache "$work/cache" --stats "$work/stats" --dump-hlo "$work/hlo" \
    >"$work/tpu" 2>"$work/err" </dev/null || fail "$ranks ranks: code $?"
  cmp -s "$work/cpu" "$work/tpu" || fail "$ranks ranks: another text than on the CPU: $(cat "$work/tpu")"
  grep -q '"device": *"tpu"' "$work/stats" || fail "$ranks ranks: --stats"
done
timeout 120 "$tprun" "${chips[@]}" -n 2 "${prompt[@]}" --compile-cache "$work/cache" --stats "$work/stats" >"$work/tpu" 2>"$work/err" </dev/null ||
  fail "second start: code $?"
grep -q '"programs_compiled": *0' "$work/stats" || fail "a second start compiled again: $(cat "$work/stats")"
grep -lq stablehlo "$work/hlo"/* || fail "--dump-hlo wrote nothing"
timeout 120 "$tprun" "${chips[@]}" -n 2 score --model "$model" --prompt "A chip is" >"$work/out" 2>"$work/err" </dev/null || fail "score: code $?"
grep -q '"nll"' "$work/out" || fail "score"

timeout 120 "$tprun" "${chips[@]}" -n 2 "${prompt[@]}" --disable-compile >"$work/tpu" 2>"$work/err" </dev/null || fail "op by op: code $?"
cmp -s "$work/cpu" "$work/tpu" || fail "op by op: another text than on the CPU: $(cat "$work/tpu")"
refused "with --disable-compile there are no whole programs" "${chips[@]}" "${prompt[@]}" --disable-compile --dump-hlo "$work/hlo"
refused "the CPU runs op by op" --device cpu "${prompt[@]}" --dump-hlo "$work/hlo"
refused "is no slice that is sold" plan aot --model "$model" --topology v5e:3x3
refused "--topology: plan aot needs it" plan aot --model "$model"
refused "2 and --topology v5e:2x2 (4) disagree" plan aot --model "$model" --topology v5e:2x2 --tp 2
refused "chips multiply in the model's dtype" "${chips[@]}" "${prompt[@]}" --weights int8 --activations int8
refused "chips multiply in the model's dtype" plan aot --model "$model" --topology v5e:1x1 --weights int8 --activations int8
refused "chips keep the cache in the model's dtype" "${chips[@]}" "${prompt[@]}" --cache-dtype int8
refused "$work/out is not a directory" "${chips[@]}" "${prompt[@]}" --dump-hlo "$work/out"
refused "--batch: 100000 prompts in flight are more than the 1024" plan aot --model "$model" --topology v5e:1x1 --batch 100000
refused "is not a list of whole numbers" plan aot --model "$model" --topology v5e:1x1 --prefill 1,x

[ $failures = 0 ] && echo "models run on chips"
exit $((failures > 0))
