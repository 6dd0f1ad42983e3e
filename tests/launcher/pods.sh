#!/usr/bin/env bash
# One tprun per host of a slice, as pods start it: several tpruns on this machine over the fake slice. They write what one host
# writes; the failure of a rank on one of them ends all.
# usage: pods.sh TPRUN FAKE_SLICE_PLUGIN MODEL
set -u
tprun=$1 plugin=$2 model=$3
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
  echo "FAIL: $*"
  head -20 "$work"/err.*
  failures=$((failures + 1))
}

# Free ports of this machine; on hosts of their own the pods would all use 8070 and up.
ports() {
  env -u TPU_WORKER_HOSTNAMES -u TORCH_TPU_SLICEBUILDER_ADDRESSES -u MASTER_PORT "$tprun" env --device tpu --pjrt-plugin "$plugin" -n "$1" --json |
    python3 -c 'import json, sys; e = json.load(sys.stdin)["env"]; print(e["MASTER_PORT"], *[a.split(":")[1] for a in e["TORCH_TPU_SLICEBUILDER_ADDRESSES"].split(",")])'
}

# A slice of two hosts with $1 ranks each.
slice() {
  ranks=$1
  set -- $(ports $((2 * ranks)))
  export MASTER_PORT=$1
  shift
  TORCH_TPU_SLICEBUILDER_ADDRESSES=
  for i in $(seq $((2 * ranks))); do
    TORCH_TPU_SLICEBUILDER_ADDRESSES+=,127.0.0.$(((i - 1) / ranks + 1)):$1
    shift
  done
  export TORCH_TPU_SLICEBUILDER_ADDRESSES=${TORCH_TPU_SLICEBUILDER_ADDRESSES#,}
  export TPU_WORKER_HOSTNAMES=127.0.0.1,127.0.0.2
}

# Starts tprun on host $1 in the background, its number in pod[$1].
start() {
  local host=$1
  shift
  JOB_COMPLETION_INDEX=$host timeout 250 "$tprun" --device tpu --pjrt-plugin "$plugin" -n $ranks "$@" --compile-cache "$work/cache" \
    >"$work/out.$host" 2>"$work/err.$host" </dev/null &
  pod[$host]=$!
}

# Waits for host $1 and checks its code.
ended() {
  wait "${pod[$1]}" 2>"$work/wait"
  local code=$?
  [ $code = "$2" ] || fail "$3: host $1 ended with $code, not $2"
}

generate=(generate --model "$model" --dtype float32 --prompt "A chip is" --max-new-tokens 6)
"$tprun" --device cpu "${generate[@]}" >"$work/one" 2>"$work/err.0" </dev/null || fail "one host"
for ranks in 1 2; do
  slice $ranks
  start 1 "${generate[@]}"
  start 0 "${generate[@]}"
  ended 0 0 "$ranks ranks"
  ended 1 0 "$ranks ranks"
  cmp -s "$work/one" "$work/out.0" || fail "$ranks ranks: another text than on one host: $(cat "$work/out.0")"
  [ ! -s "$work/out.1" ] || fail "$ranks ranks: the second host wrote to its standard output"
done

# Another command line on one host.
slice 1
start 0 "${generate[@]}"
start 1 "${generate[@]}" --seed 7
ended 0 1 "other job"
ended 1 1 "other job"
grep -q "this host's tprun was given another job than rank 0's" "$work"/err.? || fail "other job: not told"

# A host that does not come.
slice 1
start 0 --timeout 2 "${generate[@]}"
ended 0 1 "missing host"
grep -q "start: timed out after 2.0 s waiting for rank 1" "$work/err.0" || fail "missing host: not named"
slice 1
start 1 --timeout 2 "${generate[@]}"
ended 1 1 "missing first host"
grep -q "store 127.0.0.1:$MASTER_PORT: rank 0's cannot be reached" "$work/err.1" || fail "missing first host: not named"

# Kills while they write; whatever is killed where, both tpruns end, with the code of the signal where it struck.
long=(generate --model "$model" --prompt "A chip is" --ignore-eos --max-new-tokens 1000)
rank_of() {
  for p in $(pgrep -x tprun-rank); do
    grep -qzxs "KILL_MARK=$1" "/proc/$p/environ" && echo "$p"
  done
}
for signal in KILL TERM; do
  for victim in 0 1; do
    [ $signal$victim != TERM0 ] || continue
    slice 1
    export KILL_MARK=$$-$victim-$signal
    start 0 "${long[@]}"
    start 1 "${long[@]}"
    for i in $(seq 2000); do [ "$(wc -c <"$work/out.0")" -gt 20 ] && break; sleep 0.1; done
    [ "$(wc -c <"$work/out.0")" -gt 20 ] || fail "$signal on host $victim: nothing was written"
    for p in $(rank_of "$KILL_MARK"); do
      grep -qzx "RANK=$victim" "/proc/$p/environ" && kill -$signal "$p"
    done
    code=$((128 + $(kill -l $signal)))
    ended "$victim" $code "$signal on host $victim"
    # A stop is agreed on by all; of a rank that was killed the others only see that it is gone.
    [ $signal = TERM ] || code=1
    ended $((1 - victim)) $code "$signal on host $victim"
    [ -z "$(rank_of "$KILL_MARK")" ] || fail "$signal on host $victim: ranks are left"
  done
done
unset KILL_MARK

# Where the slice's topology is set, the chips tell which host this is, and the pod's number counts only if they do not.
slice 1
for case in "0,0,0 0" "1,3,0 1" " 1"; do
  coordinates=${case% *} number=${case##* }
  got=$(env -u TORCH_TPU_SLICEBUILDER_ADDRESSES TORCH_TPU_TOPOLOGY=2,4,1 JOB_COMPLETION_INDEX=1 TORCH_TPU_BASE_PORT=$((MASTER_PORT + 20)) \
    TPRUN_FAKE_SLICE_COORDS="$coordinates" timeout 60 "$tprun" env --device tpu --pjrt-plugin "$plugin" -n 4 2>"$work/err.0" | sed -n 's/^export NODE_RANK=//p')
  [ "$got" = "$number" ] || fail "coordinates '$coordinates': host '$got', not $number"
done

# Any program, as with torchrun.
unset TPU_WORKER_HOSTNAMES TORCH_TPU_SLICEBUILDER_ADDRESSES
for host in 1 0; do
  timeout 60 "$tprun" --device cpu --nnodes 2 --node-rank $host --master-addr 127.0.0.1 --master-port "$MASTER_PORT" -n 2 --quiet --tee -- \
    sh -c 'echo "$RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $GROUP_RANK $MASTER_ADDR:$MASTER_PORT" >&2' 2>"$work/err.$host" </dev/null &
done
wait
got=$(cat "$work/err.0" "$work/err.1" | sed 's/^\[[^:]*:/[/' | sort)
want="[0] 0 0 4 2 0 127.0.0.1:$MASTER_PORT
[1] 1 1 4 2 0 127.0.0.1:$MASTER_PORT
[2] 2 0 4 2 1 127.0.0.1:$MASTER_PORT
[3] 3 1 4 2 1 127.0.0.1:$MASTER_PORT"
[ "$got" = "$want" ] || fail "program: places are wrong"

# What cannot be.
refused() {
  local message=$1
  shift
  "$tprun" --nnodes 2 --master-port "$MASTER_PORT" "$@" >"$work/out" 2>"$work/err.0" </dev/null
  local code=$?
  [ $code = 2 ] && grep -qF -- "$message" "$work/err.0" || fail "$*: code $code, or no '$message'"
}
refused "on CPU tensors travel over MPI" --device cpu --node-rank 0 --master-addr 127.0.0.1 "${generate[@]}"
refused "--node-rank: is needed with several hosts" --device cpu --master-addr 127.0.0.1 -- true
refused "--master-addr: is needed with several hosts" --device cpu --node-rank 1 -- true
refused "one of several tpruns cannot start the whole job again" --device cpu --node-rank 1 --max-restarts 1 -- true

[ $failures = 0 ] && echo "pods work"
exit $((failures > 0))
