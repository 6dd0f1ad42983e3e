#!/usr/bin/env bash
# The command lines of examples/kubernetes, as the pods would run them: the MPIJob's over two network namespaces, with a stand-in for
# ssh; the slice's once per pod over the fake slice, with half of the chips. Both write what one host writes.
# usage: kubernetes.sh TPRUN MANIFEST_COMMAND MODEL [FAKE_SLICE_PLUGIN]
set -u
tprun=$1 manifest_command=$2 model=$3 plugin=${4:-}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAIL: $*"
  cat "$work"/err*
  exit 1
}

# The command of a manifest, with this machine's places.
command_of() {
  mapfile -t command < <("$manifest_command" "$root/examples/kubernetes/$1" ${2:-} | sed "s|^/opt/tprun/bin/tprun$|$tprun|; s|/models/tiny|$model|; s|/etc/mpi/hostfile|$work/hosts|; s|^--nproc-per-node=4$|--nproc-per-node=2|")
}

one_host() {
  "$tprun" --device cpu --quiet generate --model "$model" --prompt "The French Bread Law states" --max-new-tokens 40 >"$work/one" 2>"$work/err" </dev/null || fail "one host"
}
one_host

if [ -n "$plugin" ]; then
  command_of tpu-slice.yaml
  read -r MASTER_PORT p0 p1 p2 p3 < <("$tprun" env --device tpu --pjrt-plugin "$plugin" -n 4 --json |
    python3 -c 'import json, sys; e = json.load(sys.stdin)["env"]; print(e["MASTER_PORT"], *[a.split(":")[1] for a in e["TORCH_TPU_SLICEBUILDER_ADDRESSES"].split(",")])')
  export MASTER_PORT TPU_WORKER_HOSTNAMES=127.0.0.1,127.0.0.2
  # Two pods on one machine cannot both have port 8070.
  export TORCH_TPU_SLICEBUILDER_ADDRESSES=127.0.0.1:$p0,127.0.0.1:$p1,127.0.0.2:$p2,127.0.0.2:$p3
  JOB_COMPLETION_INDEX=1 timeout 150 "${command[@]}" --pjrt-plugin="$plugin" >"$work/out.1" 2>"$work/err.1" </dev/null &
  JOB_COMPLETION_INDEX=0 timeout 150 "${command[@]}" --pjrt-plugin="$plugin" >"$work/out.0" 2>"$work/err.0" </dev/null || fail "slice: code $?"
  wait $! || fail "slice: second pod: code $?"
  cmp -s "$work/one" "$work/out.0" || fail "slice: another text: $(cat "$work/out.0")"
  unset MASTER_PORT TPU_WORKER_HOSTNAMES TORCH_TPU_SLICEBUILDER_ADDRESSES
  echo "the slice's pods wrote what one host writes"
fi

. "$root/examples/mpi/two_namespaces.sh"
printf '%s\n' '10.77.0.1 slots=1' '10.77.0.2 slots=1' >"$work/hosts"
command_of mpijob.yaml Launcher
on_host_a timeout 120 "${command[@]}" --launch-agent "$launch_agent" >"$work/two" 2>"$work/err" </dev/null || fail "MPIJob: code $?"
cmp -s "$work/one" "$work/two" || fail "MPIJob: another text: $(cat "$work/two")"
echo "the MPIJob's hosts wrote what one host writes"
