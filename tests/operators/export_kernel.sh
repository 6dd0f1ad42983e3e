#!/usr/bin/env bash
# A torch-tpu kernel of the Hub becomes a package that tprun takes; what is not as it says is refused.
# usage: export_kernel.sh TPRUN SOURCE_DIR; skipped (77) where no Python has jax: TPRUN_JAX_PYTHON, the project's own, python3
set -u
tprun=$1 source=$2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
python=
for candidate in "${TPRUN_JAX_PYTHON:-}" "$source/.venv/bin/python" python3; do
  [ -n "$candidate" ] && "$candidate" -c 'import jax' 2>/dev/null && python=$candidate && break
done
[ -n "$python" ] || { echo "SKIP: no Python here has jax (pip install jax)"; exit 77; }
failures=0
fail() {
  echo "FAIL: $*"
  failures=$((failures + 1))
}

hub=$source/tests/operators/hub_kernel/build/torch-tpu
match=kind=rms,tokens=1,size=256,dtype=bfloat16,eps=1e-5
export_kernel() { # BUILD FUNCTION
  "$python" "$source/tools/export_kernel.py" "$1" "$work/out" --function "$2" --replaces norm --match $match --parameter epsilon=eps
}

export_kernel "$hub" rms_norm_tpu::rms_norm || fail "no export"
cat >"$work/expected" <<'E'
rms_norm_tpu 1 (Apache-2.0): replaces norm
  tpu: dtype=bfloat16 eps=1e-05 kind=rms size=256 tokens=1
digests, functions and signatures are right
E
"$tprun" kernels check "$work/out" | sed 's/; exported with jax.*//' | diff "$work/expected" - || fail "another package"
grep -q '"(tensor<1x256xbf16>, tensor<256xbf16>) -> tensor<1x256xbf16>"' "$work/out/kernel.yaml" || fail "another signature"
grep -q 'custom_call @tpu_custom_call' "$work"/out/stablehlo/*.mlir || fail "no kernel in it"

refused() { # MESSAGE BUILD FUNCTION
  rm -rf "$work/out"
  export_kernel "$2" "$3" >"$work/said" 2>&1 && fail "taken: $1"
  grep -qF -- "$1" "$work/said" || { fail "no '$1'"; cat "$work/said"; }
  [ ! -e "$work/out/kernel.yaml" ] || fail "wrote a package: $1"
}
refused "registers no \`rms\`; it registers rms_norm_tpu::rms_norm" "$hub" rms
cp -r "$hub" "$work/hub"
echo "x = 1" >>"$work/hub/_ops.py"
refused "$work/hub/_ops.py is not the file that metadata.json says" "$work/hub" rms_norm_tpu::rms_norm
[ $failures = 0 ] || exit 1
echo ok
