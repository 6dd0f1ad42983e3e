#!/usr/bin/env bash
# Two hosts on one machine: network namespaces joined by a veth pair, with names of their own; in the place of ssh a script that
# enters the other namespace. Needs root; says "skipped" and returns 77 without.
# usage: hosts.sh TPRUN [MODEL PROMPT TEXT]   with a model: what both hosts together generate must be TEXT
set -u
tprun=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
id=$$
. "$(dirname "${BASH_SOURCE[0]}")/../../examples/mpi/two_namespaces.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
failures=0

fail() {
  echo "FAIL: $*"
  cat "$work/err"
  failures=$((failures + 1))
}

# tprun on the first host, over both
on_hosts() {
  on_host_a timeout 60 "$tprun" --device cpu --host 10.77.0.1,10.77.0.2 --launch-agent "$launch_agent" "$@" 2>"$work/err" </dev/null
}

on_hosts -n 2 --quiet --tee -- sh -c 'echo "$RANK $LOCAL_RANK $GROUP_RANK $LOCAL_WORLD_SIZE $WORLD_SIZE $MASTER_ADDR" >&2' >"$work/out" || fail "start: code $?"
got=$(sort "$work/err")
want='[hosta:0] 0 0 0 2 4 10.77.0.1
[hosta:1] 1 1 0 2 4 10.77.0.1
[hostb:2] 2 0 1 2 4 10.77.0.1
[hostb:3] 3 1 1 2 4 10.77.0.1'
[ "$got" = "$want" ] || fail "places are wrong"

on_hosts -n 1 --grace 2 -- sh -c '[ $RANK = 1 ] && exit 5; sleep 60' >"$work/out"
code=$?
[ $code = 5 ] && grep -q "rank 1 on hostb exited with code 5" "$work/err" || fail "failing rank: code $code"

# Nothing is left on the other host when tprun is killed.
HOSTS_MARK=$id on_hosts -n 1 -- sh -c 'echo $$ >'"$work"'/ready.$RANK; sleep 300 & wait' >"$work/out" &
for i in $(seq 100); do [ -s "$work/ready.0" ] && [ -s "$work/ready.1" ] && break; sleep 0.1; done
job=$(grep -lzxs "HOSTS_MARK=$id" /proc/[0-9]*/environ | cut -d/ -f3 | while read -r p; do [ "$(cat /proc/"$p"/comm 2>/dev/null)" = tprun ] && echo "$p"; done)
kill -9 $job
for i in $(seq 60); do
  [ -e /proc/"$(cat "$work/ready.0")" ] || [ -e /proc/"$(cat "$work/ready.1")" ] || break
  sleep 0.1
done
for r in 0 1; do [ ! -e /proc/"$(cat "$work/ready.$r")" ] || fail "rank $r outlived tprun"; done
wait

if [ $# -ge 4 ]; then
  text=$(on_hosts -n 1 generate --model "$2" --prompt "$3" --max-new-tokens 12) || fail "generate: code $?"
  [ "$text" = "$4" ] || fail "generate: '$text'"
fi
[ $failures = 0 ] && echo "two hosts work"
exit $((failures > 0))
