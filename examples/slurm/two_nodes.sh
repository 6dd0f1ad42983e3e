#!/usr/bin/env bash
# A SLURM cluster on this machine (munged, slurmctld, two slurmds), a batch job over both of its nodes, and the end of it all. The
# job must write what one host writes. Needs root and Debian's slurm-wlm and munge; without them it says so and returns 77.
#
#   examples/slurm/two_nodes.sh [TPRUN [MODEL]]
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TPRUN=$(realpath "${1:-$here/../../build/install/bin/tprun}")
export TPRUN
model=$(realpath "${2:-$here/../tiny}")
prompt="The French Bread Law states"

skip() {
  echo "skipped: $*"
  exit 77
}
[ "$(id -u)" = 0 ] || skip "only root can start slurmd"
for program in munged slurmctld slurmd sbatch srun; do
  command -v $program >/dev/null || skip "no $program (tools/setup.sh --clusters installs it)"
done

dir=$(mktemp -d /tmp/tprun-slurm-XXXXXX)
daemons=()
# A slurmd whose controller is gone may not hear SIGTERM, so the wait has a bound.
cleanup() {
  scancel --quiet --user=root 2>>"$dir/log/end"
  kill "${daemons[@]}" 2>>"$dir/log/end"
  for i in $(seq 50); do
    [ -n "$(ps -o pid= -p "$(IFS=,; echo "${daemons[*]}")")" ] || break
    sleep 0.1
  done
  kill -9 "${daemons[@]}" 2>>"$dir/log/end"
  wait "${daemons[@]}" 2>>"$dir/log/end"
  rm -rf "$dir"
}
trap cleanup EXIT
chmod 755 "$dir"
mkdir -m 700 "$dir/munge"
mkdir "$dir/log" "$dir/state" "$dir/spool"
fail() {
  echo "FAIL: $*"
  tail -n 15 "$dir"/log/* "$dir"/*.out "$dir"/*.err
  exit 1
}

# Three ports that nobody listens on.
free_ports() {
  python3 -c 'import socket
sockets = [socket.socket() for _ in range(3)]
for s in sockets: s.bind(("127.0.0.1", 0))
print(*[s.getsockname()[1] for s in sockets])'
}
read -r ctld node1 node2 <<<"$(free_ports)"
export SLURM_CONF=$dir/slurm.conf
sed "s|@DIR@|$dir|g; s|@CTLD@|$ctld|; s|@NODE1@|$node1|; s|@NODE2@|$node2|" "$here/slurm.conf.in" >"$SLURM_CONF"
head -c 1024 /dev/urandom >"$dir/munge/key"
chmod 600 "$dir/munge/key"

# The daemons stay in the foreground, as children that are ended by their number.
daemon() {
  local log=$1
  shift
  "$@" >"$dir/log/$log" 2>&1 </dev/null &
  daemons+=($!)
}
daemon munged munged --foreground --force --key-file="$dir/munge/key" --socket="$dir/munge/socket" --pid-file="$dir/munge/pid" \
  --log-file="$dir/log/munge" --seed-file="$dir/munge/seed"
for i in $(seq 50); do [ -S "$dir/munge/socket" ] && break; sleep 0.1; done
[ -S "$dir/munge/socket" ] || fail "munged did not start"
daemon ctld slurmctld -D
daemon node1 slurmd -D -N node1
daemon node2 slurmd -D -N node2
for i in $(seq 100); do
  [ "$(sinfo --noheader --Node --format=%T 2>>"$dir/log/sinfo" | grep -c '^idle')" = 2 ] && break
  sleep 0.2
done
[ "$(sinfo --noheader --Node --format=%T 2>>"$dir/log/sinfo" | grep -c '^idle')" = 2 ] || fail "the nodes are not idle: $(sinfo)"

cd "$dir" || exit 1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TPRUN_OPTIONS=--quiet
"$TPRUN" --device cpu --quiet generate --model "$model" --prompt "$prompt" --max-new-tokens 40 >one 2>log/one </dev/null || fail "one host"
timeout 120 sbatch --wait --output="$dir/job.out" --error="$dir/job.err" "$here/job.sh" "$model" "$prompt" >log/sbatch 2>&1 ||
  fail "sbatch: $(cat job.err)"
cmp -s one job.out || fail "two nodes wrote another text: $(cat job.out)"
echo "two nodes of a SLURM cluster wrote: $(cat job.out)"

# The ranks really are one on each node.
TPRUN_OPTIONS=
cat >places.sh <<'S'
#!/bin/bash
exec "$TPRUN" --device cpu --quiet --tee -- sh -c 'echo "rank $RANK of $WORLD_SIZE on host $GROUP_RANK" >&2'
S
timeout 120 sbatch --wait --nodes=2 --ntasks-per-node=2 --output="$dir/places.out" --error="$dir/places.err" places.sh >log/sbatch 2>&1 ||
  fail "places: $(cat places.err)"
[ "$(sed 's/^\[[^]]*\] //' places.err | sort)" = "rank 0 of 4 on host 0
rank 1 of 4 on host 0
rank 2 of 4 on host 1
rank 3 of 4 on host 1" ] || fail "places: $(cat places.err)"

# A copy of tprun per task would be N jobs of one rank.
timeout 60 srun -N 1 -n 2 "$TPRUN" --device cpu -- true >log/srun 2>&1 && fail "two copies of tprun were accepted"
grep -q "srun started 2 copies of tprun; each would be a job of its own" log/srun || fail "two copies: $(cat log/srun)"
# Within one node srun may start the ranks itself: they read what tprun would have told them.
worker=$(dirname "$TPRUN")/tprun-rank
[ -x "$worker" ] || worker=$(dirname "$TPRUN")/../runtime/tprun-rank
"$TPRUN" --device cpu --dry-run -n 2 --threads 1 generate --model "$model" --prompt "$prompt" --max-new-tokens 40 >dry 2>log/dry || fail "--dry-run"
tail -n 1 dry >job.line
timeout 60 srun -N 1 -n 2 --mpi=pmix "$worker" <job.line >ranks.out 2>log/ranks || fail "srun --mpi=pmix: $(cat log/ranks)"
cmp -s one ranks.out || fail "srun --mpi=pmix wrote another text: $(cat ranks.out)"
# Ranks that MPI cannot join would each be a job of its own; they end without a word of text.
timeout 60 srun -N 1 -n 2 --mpi=none "$worker" <job.line >singles.out 2>log/singles && fail "two singletons were accepted"
[ ! -s singles.out ] || fail "singletons wrote: $(cat singles.out)"

# A rank that fails fails the batch job, with its code.
printf '#!/bin/bash\nexec "$TPRUN" --device cpu --quiet -- sh -c "exit 5"\n' >failing.sh
timeout 120 sbatch --wait --nodes=2 --output="$dir/failing.out" failing.sh >log/sbatch 2>&1
[ $? = 5 ] || fail "a failing rank: sbatch did not end with 5"
