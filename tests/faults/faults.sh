#!/usr/bin/env bash
# Kills, signals and closed pipes: whatever happens to a job, tprun ends in time, with the right code, and nothing is left of it.
# usage: faults.sh TPRUN MODEL   (kills at random moments: random_kills.py; of what is only starting: start.sh)
set -u
tprun=$1
model=$2
source "$(dirname "$0")/expect.sh"

# Starts a job of 2 ranks, marked $1, that sleeps in a shell's child, and waits until both ranks run.
begin() {
  local mark=$1
  shift
  rm -f "$work/$mark".ready.*
  FAULT_MARK=$mark WORK=$work "$tprun" --device cpu -n 2 --grace 2 "$@" -- sh -c \
    'echo $$ > $WORK/$FAULT_MARK.ready.$RANK; sleep 300 & wait; exit 9' >"$work/$mark.out" 2>"$work/$mark.err" </dev/null &
  job=$!
  appears "$work/$mark.ready.0" "$mark"
  appears "$work/$mark.ready.1" "$mark"
}

begin kill_rank
kill -9 "$(cat "$work/kill_rank.ready.1")"
expect $job 137 kill_rank 5
grep -q "rank 1 on .* was ended by SIGKILL" "$work/kill_rank.err" || fail "kill_rank: the rank is not named"

begin kill_exec
kill -9 "$(ps -o ppid= "$(cat "$work/kill_exec.ready.0")" | tr -d ' ')"
expect $job 137 kill_exec 5

begin term_rank
kill -TERM "$(cat "$work/term_rank.ready.0")"
expect $job 143 term_rank 5

for signal in KILL TERM INT; do
  begin "mpirun_$signal"
  kill -$signal "$(mpirun_of $job)"
  expect $job $((128 + $(kill -l $signal))) "mpirun_$signal" 5
done

for signal in TERM HUP; do
  begin "tprun_$signal"
  kill -$signal $job
  expect $job $((128 + $(kill -l $signal))) "tprun_$signal" 5
done

begin tprun_KILL
kill -9 $job
wait $job 2>"$work/wait"
gone tprun_KILL

# Ranks that ignore SIGTERM are killed after the grace.
FAULT_MARK=stubborn "$tprun" --device cpu -n 2 --grace 1 -- sh -c 'trap "" TERM; [ $RANK = 1 ] && exit 5; while :; do sleep 1; done' \
  >"$work/stubborn.out" 2>"$work/stubborn.err" </dev/null &
expect $! 5 stubborn 5

# A second Ctrl-C does not wait for the grace.
FAULT_MARK=twice WORK=$work "$tprun" --device cpu -n 2 --grace 50 -- sh -c 'trap "" INT; echo > $WORK/twice.ready.$RANK; while :; do sleep 1; done' \
  >"$work/twice.out" 2>"$work/twice.err" </dev/null &
job=$!
appears "$work/twice.ready.0" twice
appears "$work/twice.ready.1" twice
kill -INT $job
sleep 0.5
[ -n "$(having FAULT_MARK twice)" ] || fail "twice: the first Ctrl-C did not wait"
kill -INT $job
expect $job 130 twice 5

# Signals while a model writes: all ranks stop at the same token, and what was written is a beginning of the whole text.
write=(--device cpu --quiet -n 2 --threads 1 generate --model "$model" --prompt "A chip is" --ignore-eos --dtype float32)
bounded "$tprun" "${write[@]}" --max-new-tokens 400 >"$work/whole" 2>"$work/whole.err" </dev/null || fail "writing: code $?"
for signal in TERM INT HUP USR1; do
  mark=writing_$signal
  FAULT_MARK=$mark "$tprun" "${write[@]}" --max-new-tokens 20000 >"$work/$mark.out" 2>"$work/$mark.err" </dev/null &
  job=$!
  for i in $(seq 200); do [ "$(wc -c <"$work/$mark.out")" -gt 40 ] && break; sleep 0.05; done
  kill -$signal $job
  expect $job $((128 + $(kill -l $signal))) $mark 5
  size=$(wc -c <"$work/$mark.out")
  [ "$size" -gt 40 ] && cmp -s <(head -c 1000 "$work/$mark.out") <(head -c "$((size < 1000 ? size : 1000))" "$work/whole") ||
    fail "$mark: wrote $size bytes that are not a beginning of the text"
done

grep -q "exited with code 138" "$work/writing_USR1.err" || fail "writing_USR1: not ended by the ranks themselves"

# A reader that has had enough.
FAULT_MARK=head timeout 20 "$tprun" --device cpu -n 2 --grace 2 -- sh -c 'while :; do echo line $RANK; done' 2>"$work/head.err" | head -1 >"$work/head.out"
code=${PIPESTATUS[0]}
[ "$code" = 141 ] || fail "head: code $code"
[ "$(cat "$work/head.out")" = "line 0" ] || fail "head: wrong line"
gone head

# A signal for the program goes to every rank.
FAULT_MARK=usr1 WORK=$work "$tprun" --device cpu -n 2 -- sh -c 'trap "echo got $RANK; exit 0" USR1; echo > $WORK/usr1.ready.$RANK; while :; do sleep 0.1; done' \
  >"$work/usr1.out" 2>"$work/usr1.err" </dev/null &
job=$!
appears "$work/usr1.ready.0" usr1
appears "$work/usr1.ready.1" usr1
kill -USR1 $job
expect $job 0 usr1 5
grep -q "got 0" "$work/usr1.out" && grep -q "got 1" "$work/usr1.err" || fail "usr1: not all ranks got it"

# The first failure, with its last words at the very end, and a restart that helps.
bounded "$tprun" --device cpu -n 2 --max-restarts 2 -- sh -c "[ \$RANK = 1 ] && [ ! -e $work/second ] && { : > $work/second; echo last words >&2; exit 3; }; exit 0" \
  2>"$work/restart.err" </dev/null
code=$?
[ $code = 0 ] || fail "restart: code $code"
grep -q "rank 1 on .* exited with code 3$" "$work/restart.err" || fail "restart: failure not told"
[ "$(grep -c "last words" "$work/restart.err")" = 1 ] || fail "restart: the last words were shown twice"

# What the failing rank said last stands at the end, even when others spoke after it or the console shows no lines.
WORK=$work bounded "$tprun" --device cpu -n 2 -- sh -c '
  [ $RANK = 1 ] && { while [ ! -e $WORK/last.ready ]; do sleep 0.05; done; echo last words >&2; exit 3; }
  trap "echo bye >&2; exit 1" TERM; : >$WORK/last.ready; while :; do sleep 0.1; done' 2>"$work/last.err" </dev/null
[ "$(tail -2 "$work/last.err" | sed 's/on [^ ]*/on HOST/')" = "tprun: error: rank 1 on HOST exited with code 3; its last lines:
  last words" ] || { fail "last: not at the end"; cat "$work/last.err"; }
bounded "$tprun" --device cpu -n 2 --quiet -- sh -c '[ $RANK = 1 ] && { echo last words >&2; exit 3; }; exit 0' 2>"$work/last.err" </dev/null
[ "$(tail -1 "$work/last.err")" = "  last words" ] || fail "last: --quiet hides it"

# Many jobs at once, one of them beside a taken default port: no two meet on a port.
for i in $(seq 20); do
  (bounded "$tprun" --device cpu -n 2 -- sh -c '[ $RANK = 0 ] && echo $MASTER_PORT; exit 0' >"$work/many.$i" 2>"$work/many.$i.err" </dev/null; echo $? >"$work/many.$i.rc") &
done
wait
cat "$work"/many.*.rc | sort | uniq -c | grep -qx ' *20 0' || { fail "many: not all 20 ended well"; cat "$work"/many.*.err; }
[ "$(cat "$work"/many.? "$work"/many.?? | sort -u | wc -l)" = 20 ] || fail "many: a port was given twice"

sleep 0.3
[ -z "$(ls -d /dev/shm/tprun-"$(id -u)"-* 2>"$work/ls")" ] || echo "note: /dev/shm has directories of jobs that run elsewhere: $(ls -d /dev/shm/tprun-*)"
[ $failures = 0 ] && echo "all faults handled"
exit $((failures > 0))
