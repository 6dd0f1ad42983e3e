# What the tests of faults expect of a job, for `source`. Every job carries FAULT_MARK=<its name> in its environment and writes to
# $work/<name>.out and .err. No wait here is without a bound: what hangs is told with all processes of the job, and killed.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
here=$(dirname "${BASH_SOURCE[0]}")
failures=0
kPatience=60 # seconds after which a job hangs

fail() {
  echo "FAIL: $*"
  failures=$((failures + 1))
}

# Processes whose environment has VARIABLE=VALUE.
having() {
  grep -lzxs "$1=$2" /proc/[0-9]*/environ | cut -d/ -f3 | grep -vx $$
}

kill_marked() {
  having FAULT_MARK "$1" | xargs -r kill -9 2>"$work/kill"
}

# Waits for background tprun $1 and checks its code ($2), what is left of the job marked $3, and the time ($4 seconds).
expect() {
  local pid=$1 code=$2 mark=$3 bound=$4 start=$SECONDS rc
  if ! timeout $kPatience tail --pid="$pid" -s 0.05 -f /dev/null; then
    fail "$mark: hangs"
    python3 "$here/job_tree.py" FAULT_MARK "$mark"
    kill -9 "$pid"
    kill_marked "$mark"
  fi
  wait "$pid" 2>"$work/wait"
  rc=$?
  [ "$rc" = "$code" ] || { fail "$mark: code $rc, not $code"; sed 's/^/  /' "$work/$mark.err"; }
  [ $((SECONDS - start)) -le "$bound" ] || fail "$mark: took $((SECONDS - start)) s, not $bound"
  gone "$mark"
}

# Nothing of the job marked $1 is there any more.
gone() {
  local i
  for i in $(seq 100); do
    [ -z "$(having FAULT_MARK "$1")" ] && return
    sleep 0.1
  done
  fail "$1: left"
  python3 "$here/job_tree.py" FAULT_MARK "$1"
  kill_marked "$1"
}

# A command in the foreground.
bounded() { timeout -k 5 $kPatience "$@"; }

# Waits for the text in file $1, which a process of the job marked $2 writes.
appears() {
  local i
  for i in $(seq 400); do
    [ -s "$1" ] && return
    sleep 0.05
  done
  fail "$2: did not start"
}

mpirun_of() { pgrep -P "$1" -x mpirun; }
