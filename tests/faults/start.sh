#!/usr/bin/env bash
# Faults of what is only starting: each is made by an `mpirun` of the test's own that stands before the real one in PATH, so that
# every moment that a random kill may strike is struck each time.
# usage: start.sh TPRUN
set -u
tprun=$1
source "$(dirname "$0")/expect.sh"
real=$(command -v mpirun)
grace=3
bound=$((grace + 2))

# Makes the stub $1, whose script follows on standard input. It sees $real, and READY to write to when it is there.
stub() {
  mkdir -p "$work/$1"
  { printf '#!/usr/bin/env bash\nreal=%q\nversion() { [ "$1" = --version ]; }\n' "$real"; cat; } >"$work/$1/mpirun"
  chmod +x "$work/$1/mpirun"
}

# Starts a job marked $1 through the stub $2, with options.
begin() {
  local mark=$1 stub=$2
  shift 2
  rm -f "$work/$mark.ready"
  FAULT_MARK=$mark READY=$work/$mark.ready PATH=$work/$stub:$PATH \
    "$tprun" --device cpu --quiet --grace $grace "$@" -- sh -c 'sleep 300 & wait; exit 9' >"$work/$mark.out" 2>"$work/$mark.err" </dev/null &
  job=$!
}

# Signals $2… to tprun, each in a job of its own, once the stub $1 is there.
strike() {
  local stub=$1 signal
  shift
  for signal; do
    begin "${stub}_$signal" "$stub" -n 2
    appears "$work/${stub}_$signal.ready" "${stub}_$signal"
    kill -"$signal" $job
    expect $job $((128 + $(kill -l "$signal"))) "${stub}_$signal" $bound
  done
}

# mpirun that is killed while it is asked for its version: the job's end, as any other mpirun's.
stub asked <<'EOS'
version "$1" && { kill -$SIGNAL $$; sleep 300; }
exec "$real" "$@"
EOS
for signal in KILL TERM INT; do
  SIGNAL=$signal begin "asked_$signal" asked -n 2
  expect $job $((128 + $(kill -l $signal))) "asked_$signal" $bound
  [ "$(cat "$work/asked_$signal.err")" = "tprun: error: mpirun was ended by SIG$signal" ] || fail "asked_$signal: $(cat "$work/asked_$signal.err")"
done

# mpirun that never tells its version, and a user who has had enough of it.
stub mute <<'EOS'
trap "" TERM INT HUP
echo >"$READY"
sleep 300
EOS
strike mute KILL TERM HUP

# mpirun that starts nothing and does not listen.
stub deaf <<'EOS'
version "$1" && exec "$real" "$@"
trap "" TERM INT HUP
echo >"$READY"
sleep 300
EOS
strike deaf KILL TERM HUP
begin deaf_timeout deaf -n 2 --timeout 1
expect $job 1 deaf_timeout $((1 + bound))
[ "$(cat "$work/deaf_timeout.err")" = "tprun: error: --timeout: after 1 s these ranks had not started: 0, 1" ] || fail "deaf_timeout: $(cat "$work/deaf_timeout.err")"

# Ranks that report in after the time was up are named nevertheless.
FAULT_MARK=late bounded "$tprun" --device cpu --quiet --timeout 0.001 -n 2 -- true 2>"$work/late.err" </dev/null
[ "$(cat "$work/late.err")" = "tprun: error: --timeout: after 0.001 s these ranks had not started: 0, 1" ] || fail "late: $(cat "$work/late.err")"
gone late

# mpirun that goes without a word.
stub gone <<'EOS'
version "$1" && exec "$real" "$@"
exit 0
EOS
begin gone gone -n 2
expect $job 2 gone $bound
[ "$(cat "$work/gone.err")" = "tprun: error: mpirun could not start the ranks" ] || fail "gone: $(cat "$work/gone.err")"

# A parent that ignores its children's ends hands that down.
FAULT_MARK=ignored timeout -k 1 20 env --ignore-signal=CHLD "$tprun" --device cpu --quiet -n 2 -- sh -c 'exit 3' 2>"$work/ignored.err" </dev/null
code=$?
[ $code = 3 ] || fail "ignored: code $code: $(cat "$work/ignored.err")"
gone ignored

# The step between mpirun and a rank is killed before it has said a word to tprun: $VICTIM, after $AFTER seconds, which is before or
# after the others are there. mpirun's own way to give up would take twice the grace and 10 s more.
stub early <<'EOS'
version "$1" && exec "$real" "$@"
exec "$real" "${@:1:$#-1}" bash -c '[ $OMPI_COMM_WORLD_RANK = $VICTIM ] && { sleep $AFTER; kill -$SIGNAL $$; sleep 300; }; exec "$0"' "${@: -1}"
EOS
for case in "KILL 1 0 0" "KILL 2 0 0" "KILL 2 1 0" "KILL 2 0 0.5" "TERM 2 1 0" "INT 1 0 0" "INT 2 1 0.5"; do
  read -r signal ranks victim after <<<"$case"
  mark=early_${case// /_}
  SIGNAL=$signal VICTIM=$victim AFTER=$after begin "$mark" early -n "$ranks"
  expect $job $((128 + $(kill -l $signal))) "$mark" $bound
  grep -q "^tprun: error: a rank was ended by SIG$signal before its program was started; mpirun said:$" "$work/$mark.err" ||
    fail "$mark: $(cat "$work/$mark.err")"
done

# It never comes to its program at all: a signal or --timeout ends that too.
stub stuck <<'EOS'
version "$1" && exec "$real" "$@"
exec "$real" "${@:1:$#-1}" bash -c '[ $OMPI_COMM_WORLD_RANK = 1 ] && { trap "" TERM INT; echo >"$READY"; sleep 300; }; exec "$0"' "${@: -1}"
EOS
strike stuck KILL TERM
begin stuck_timeout stuck -n 2 --timeout 2
expect $job 1 stuck_timeout $((2 + bound))
[ "$(cat "$work/stuck_timeout.err")" = "tprun: error: --timeout: after 2 s these ranks had not started: 1" ] || fail "stuck_timeout: $(cat "$work/stuck_timeout.err")"

[ $failures = 0 ] && echo "all faults of starting handled"
exit $((failures > 0))
