#!/usr/bin/env bash
# The command line from the outside: refusals start nothing, streams are clean, threads have cores, and the mpirun of another
# release gets its own options.
# usage: command_line.sh TPRUN
set -u
tprun=$1
# What the caller has set for jobs of its own is not what these lines are about.
unset $(compgen -e | grep -E '^(OMPI|PRTE|TPU|TORCH_TPU|SLURM|MASTER|OMP_NUM_THREADS|LOCAL_|GROUP_RANK|RANK|WORLD_SIZE|NNODES|NODE_RANK|JOB_COMPLETION_INDEX)')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
  echo "FAIL: $*"
  failures=$((failures + 1))
}

# A mpirun that notes its arguments: nothing may be started by what is refused.
mkdir "$work/bin"
cat >"$work/bin/mpirun" <<'M'
#!/bin/sh
[ "$1" = --version ] && { echo "mpirun (Open MPI) ${FAKE_VERSION:-5.0.6}"; exit 0; }
echo "$@" >>"$FAKE_NOTES"
exec sleep "${FAKE_SLEEP:-0}"
M
chmod +x "$work/bin/mpirun"
export FAKE_NOTES=$work/notes

# refused MESSAGE ARGS…: exit 2, nothing started, the message on standard error, nothing on standard output
refused() {
  local message=$1
  shift
  PATH=$work/bin:$PATH timeout 20 "$tprun" "$@" >"$work/out" 2>"$work/err" </dev/null
  local code=$?
  [ $code = 2 ] || fail "$*: code $code, not 2"
  grep -qF -- "$message" "$work/err" || { fail "$*: no '$message'"; cat "$work/err"; }
  grep -q "^tprun: error: " "$work/err" || fail "$*: no 'tprun: error:'"
  [ ! -s "$work/out" ] || fail "$*: wrote to standard output"
  [ ! -e "$work/notes" ] || fail "$*: started mpirun"
  rm -f "$work/notes"
}

root=(--allow-run-as-root --device cpu)
: >"$work/command_line.txt"
refused "no command"
refused "did you mean \`generate\`?" genarate
refused "did you mean \`--nproc-per-node\`?" --nproc-per-nde 2 -- true
refused "\`0\` is not a number of ranks" --nproc-per-node 0 -- true
refused "\`two\` is not a number of ranks" -n two -- true
refused "no program follows" --
refused "no such program" "${root[@]}" -- "$work/none"
refused "command_line.txt: cannot be executed" "${root[@]}" -- "$work/command_line.txt"
echo 'print(1)' >"$work/generate.py"
refused "tprun … -- python $work/generate.py" "$work/generate.py"
refused "--model: is needed" "${root[@]}" generate --prompt x
refused "no such directory: $work/none" "${root[@]}" generate --model "$work/none" --prompt x
refused "config.json" "${root[@]}" generate --model "$work/bin" --prompt x
refused "is neither a directory nor in the Hugging Face cache" "${root[@]}" generate --model no/such --prompt x
refused "is not a time" "${root[@]}" --timeout 0 -- true
refused "\`1e300\` is not a time" "${root[@]}" --timeout 1e300 -- true
refused "\`1e300\` is not a time" "${root[@]}" --grace 1e300 -- true
OMP_NUM_THREADS=abc refused "OMP_NUM_THREADS: \`abc\` is not a number of threads" "${root[@]}" -- true
OMP_NUM_THREADS=0,2 refused "OMP_NUM_THREADS: \`0,2\` is not a number of threads" "${root[@]}" -- true
refused "looked for $work/sys/bus/pci/devices" --host-root "$work" --device tpu -- true
# A number of ranks that was given is kept or refused, never changed.
mkdir -p "$work/chip/dev/vfio" "$work/chip/proc" "$work/chip/sys/bus/pci/devices/0000:00:04.0"
echo 0x1ae0 >"$work/chip/sys/bus/pci/devices/0000:00:04.0/vendor"
echo 0x0063 >"$work/chip/sys/bus/pci/devices/0000:00:04.0/device"
ln -s ../../../kernel/iommu_groups/0 "$work/chip/sys/bus/pci/devices/0000:00:04.0/iommu_group"
touch "$work/chip/dev/vfio/0"
TPU_LIBRARY_PATH=$work/none refused "TPU_LIBRARY_PATH: no such file" --allow-run-as-root --host-root "$work/chip" --device tpu -- true
TPU_LIBRARY_PATH=$work/bin/mpirun refused "TPU_LIBRARY_PATH: $work/bin/mpirun cannot be loaded" --allow-run-as-root --host-root "$work/chip" --device tpu -- true
refused "asked 4, found 1 chip (1 device)" --allow-run-as-root --host-root "$work/chip" --device tpu -n 4 -- true
MASTER_PORT=port refused "MASTER_PORT: \`port\` is not a whole number" "${root[@]}" -- true
refused "--node-rank: is needed with several hosts" "${root[@]}" --nnodes 2 -- true
refused "--tp: 2, but 1 rank is started" "${root[@]}" --tp 2 generate --model "$work" --prompt x
refused "--tp: 2, but 3 ranks are started" "${root[@]}" --tp 2 -n 3 -- true
refused "use --nproc-per-node N, or -np N" "${root[@]}" --np 2 -- true
refused "is not a network of this host" "${root[@]}" --interface none0 -- true
refused "--master-addr: \`a b\` is not a host" "${root[@]}" --master-addr "a b" -- true
refused "--log-dir: is empty" "${root[@]}" --log-dir "" -- true
touch "$work/file"
refused "--log-dir: $work/file/logs: Not a directory" "${root[@]}" --log-dir "$work/file/logs" -- true
soft=$(ulimit -Sn)
ulimit -Sn 60
refused "ulimit -n: 60 open files are not enough to start 8 ranks" "${root[@]}" -n 8 -- true
ulimit -Sn "$soft"
[ "$(id -u)" = 0 ] && refused "add --allow-run-as-root" --device cpu -- true

# Options stand anywhere, - and _ are the same, and -- ends them.
for line in "--nproc_per_node 2 --device=cpu --allow-run-as-root --dry-run -- echo --seed x" \
  "--dry_run --device cpu --allow_run_as_root -np 2 -- echo --seed x"; do
  out=$(PATH=$work/bin:$PATH "$tprun" $line 2>"$work/err") || fail "$line: refused"
  grep -q "^mpirun -n 2 .*--prtemca prte_if_include lo" <<<"$out" || fail "$line: not the options of 5.0"
  [ "$(tail -1 <<<"$out")" = "echo --seed x" ] || fail "$line: program is wrong"
done
[ ! -e "$work/notes" ] || fail "--dry-run started mpirun"
# It tells what rank 0 would read, but no server's key.
tiny=$(dirname "$0")/../../examples/tiny
refused "--activations: no weight is quantized, so there is nothing that integers multiply" "${root[@]}" generate --model "$tiny" --activations int8 --prompt x
refused "\`int4\` is not one of KIND" "${root[@]}" generate --model "$tiny" --weights int8 --activations int4 --prompt x
echo '{"ids":[1]}' >"$work/prompts.jsonl"
ln -s prompts.jsonl "$work/same.jsonl"
refused "same.jsonl is what --input reads, and would be lost" "${root[@]}" --device cpu generate --model "$tiny" --input "$work/prompts.jsonl" --format json --output "$work/same.jsonl"
refused "prompts.jsonl is what --prompt-file reads, and would be lost" "${root[@]}" --device cpu generate --model "$tiny" --prompt-file "$work/prompts.jsonl" --output "$work/prompts.jsonl"
[ "$(cat "$work/prompts.jsonl")" = '{"ids":[1]}' ] || fail "--output has overwritten --input"
PATH=$work/bin:$PATH "$tprun" "${root[@]}" --dry-run generate --model "$tiny" --prompt x | tail -1 | grep -q '^{"job_version":.*"text":"x"' || fail "--dry-run: no job"
PATH=$work/bin:$PATH TPRUN_API_KEY=secret "$tprun" "${root[@]}" --dry-run serve --model "$tiny" >"$work/out" || fail "--dry-run serve"
grep -q secret "$work/out" && fail "--dry-run tells the server's key"
FAKE_VERSION=4.1.6 PATH=$work/bin:$PATH "$tprun" "${root[@]}" --dry-run -- true | grep -q -- "--mca oob_tcp_if_include lo" || fail "not the options of 4.1"
FAKE_VERSION=3.1.0 PATH=$work/bin:$PATH "$tprun" "${root[@]}" -- true 2>"$work/err" && fail "3.1 was accepted"
grep -q "Open MPI 3.1 is too old" "$work/err" || fail "3.1: no word of it"

# Copies of the worker that MPI does not join, as `srun --mpi=none` starts them, are not jobs of one rank each.
worker=$(dirname "$tprun")/tprun-rank
[ -x "$worker" ] || worker=$(dirname "$tprun")/../runtime/tprun-rank
SLURM_STEP_NUM_TASKS=2 OMPI_MCA_ess_singleton_isolated=1 timeout 20 "$worker" >"$work/out" 2>"$work/err" </dev/null
[ $? = 1 ] && grep -q "error: srun: started 2 copies of tprun-rank that MPI does not join" "$work/err" || { fail "single ranks"; cat "$work/err"; }

# A start that does not come to an end has a bound, and names who is missing.
FAKE_SLEEP=60 PATH=$work/bin:$PATH timeout 20 "$tprun" "${root[@]}" --timeout 1 -n 2 -- true 2>"$work/err" </dev/null
code=$?
[ $code = 1 ] && grep -q "after 1 s these ranks had not started: 0, 1" "$work/err" || { fail "--timeout: code $code"; cat "$work/err"; }

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Standard output is rank 0's, byte for byte; everything else is whole lines with who wrote them.
"$tprun" --device cpu -n 4 --log-dir "$work/log" -- sh -c 'i=0; while [ $i -lt 20 ]; do printf "%05000d\n" $RANK; printf "%05000d\n" $RANK >&2; i=$((i+1)); done; printf end' \
  >"$work/out" 2>"$work/err" </dev/null || fail "streams: code $?"
{ for i in $(seq 20); do printf "%05000d\n" 0; done; printf end; } | cmp -s - "$work/out" || fail "standard output is not rank 0's"
[ "$(grep -cE '^\[[^] ]+:[0-3]\] 0{4999}[0-3]$' "$work/err")" = 140 ] || fail "lines of the ranks are not whole"
cmp -s "$work/out" "$work/log/rank_0.stdout.log" || fail "log of rank 0 differs"
[ "$(wc -c <"$work/log/rank_3.stderr.log")" = 100020 ] || fail "log of rank 3 is not complete"
mkdir "$work/full"
ln -s /dev/full "$work/full/rank_1.stdout.log"
"$tprun" --device cpu -n 2 --quiet --log-dir "$work/full" -- sh -c 'echo $RANK; echo $RANK' >"$work/out" 2>"$work/err" </dev/null || fail "a full disk: code $?"
[ "$(cat "$work/err")" = "tprun: error: --log-dir: $work/full/rank_1.stdout.log: No space left on device; it ends here" ] || fail "a full disk: $(cat "$work/err")"
[ "$(cat "$work/full/rank_0.stdout.log")" = "0
0" ] || fail "a full disk: the other log is not whole"
"$tprun" --device cpu -n 2 --quiet -- sh -c 'echo $RANK; echo $RANK >&2' >"$work/out" 2>"$work/err" </dev/null
[ "$(cat "$work/out")" = 0 ] && [ ! -s "$work/err" ] || fail "--quiet is not quiet"

# A full disk is told, by what only prints and by a job.
for line in --help --version "env --device cpu" devices "plan show --model $tiny --tp 2" "--device cpu --dry-run -- true" "--device cpu -n 2 --quiet -- echo"; do
  timeout 20 "$tprun" $line >/dev/full 2>"$work/err" </dev/null
  code=$?
  [ $code = 1 ] && grep -q "^tprun: error: standard output: " "$work/err" || { fail "$line >/dev/full: code $code"; cat "$work/err"; }
done
# What somebody has read enough of is no error.
"$tprun" plan show --model "$tiny" --tp 2 2>"$work/err" | sed -u 1q >"$work/out"
[ ! -s "$work/err" ] || fail "plan show | head: $(cat "$work/err")"

# A place in another job that the environment names is told in one line, and no rank's.
RANK=3 WORLD_SIZE=8 "$tprun" --device cpu -n 2 -- sh -c '[ $RANK = 0 ] && echo $WORLD_SIZE; exit 0' >"$work/out" 2>"$work/err" </dev/null
[ "$(cat "$work/out")" = 2 ] && grep -q "^tprun: RANK=3, WORLD_SIZE=8 of the environment is another job's;" "$work/err" || fail "left over places: $(cat "$work/err")"

# Who may not write there is told before anything is computed.
mkdir -m 755 "$work/others" && chmod 755 "$work"
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --clear-groups test -x "$tprun" -a -r "$tiny/config.json"; then
  setpriv --reuid 65534 --clear-groups "$tprun" --device cpu generate --model "$tiny" --prompt x --stats "$work/others/s.json" >"$work/out" 2>"$work/err" </dev/null
  [ $? = 2 ] && grep -qF -- "--stats: $work/others/s.json: Permission denied" "$work/err" || fail "--stats that cannot be written: $(cat "$work/err")"
fi

# Standard input goes to rank 0, whole.
head -c 3000000 /dev/urandom >"$work/in"
"$tprun" --device cpu -n 2 -- cat <"$work/in" 2>"$work/err" | cmp -s - "$work/in" || fail "standard input was not passed on"

# Every rank has at least as many CPUs as threads, and cores of its own when there are enough; 1, 2 and 3 ranks alike.
cores=$(nproc)
for ranks in 1 2 3; do
  "$tprun" --device cpu -n $ranks --threads 2 -- sh -c 'echo "$(nproc) $OMP_NUM_THREADS" >&2' 2>"$work/err" </dev/null
  want=$((cores < 2 ? cores : 2))
  sed -n 's/^\[.*\] //p' "$work/err" | while read -r cpus threads; do
    [ "$threads" = 2 ] && [ "$cpus" -ge $want ] || echo "FAIL: $ranks ranks: $cpus CPUs for $threads threads"
  done | grep . && failures=$((failures + 1))
done
OMP_NUM_THREADS= "$tprun" --device cpu -n 1 -- sh -c 'echo $OMP_NUM_THREADS' 2>"$work/err" </dev/null | grep -qx "[1-9][0-9]*" || fail "an empty OMP_NUM_THREADS was kept"
OMP_NUM_THREADS=3 "$tprun" --device cpu -n 1 -- sh -c 'echo $OMP_NUM_THREADS' 2>"$work/err" </dev/null | grep -qx 3 || fail "OMP_NUM_THREADS was changed"

# More ranks than cores are started, and one line says so.
one=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
taskset -c "$one" "$tprun" --device cpu -n 3 -- sh -c 'exit 0' 2>"$work/err" </dev/null || fail "3 ranks on a core: code $?"
[ "$(cat "$work/err")" = "tprun: 3 ranks share 1 core: they take turns" ] || fail "3 ranks on a core: $(cat "$work/err")"

# Plans: a model for 8 heads and 2 KV heads, without weights.
cat >"$work/config.json" <<'J'
{"model_type": "llama", "vocab_size": 64, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
 "num_attention_heads": 8, "num_key_value_heads": 2, "max_position_embeddings": 32, "rms_norm_eps": 1e-5,
 "rope_theta": 10000.0, "tie_word_embeddings": false, "hidden_act": "silu"}
J
model=(--model "$work/config.json")
rm -f "$work/notes"
refused "2 and --nproc-per-node 4 disagree" plan check "${model[@]}" --tp 2 --nproc-per-node 4
refused "2 KV heads cannot be split over 4 chips" plan check "${model[@]}" --tp 4
refused "is for plan show" plan check "${model[@]}" --html "$work/page.html"
refused "is for plan show and plan aot" plan check "${model[@]}" --tp 2 --json
refused "is for plan show and plan aot" plan suggest "${model[@]}" --tp 2 --json
refused "plan suggest makes a plan of its own" plan suggest "${model[@]}" --plan auto
"$tprun" plan check "${model[@]}" -n 2 2>"$work/err" | grep -qx "OK: default plan of llama fits llama on 2 chips: 21 weights, .* on each chip" || fail "plan check"
"$tprun" plan check "${model[@]}" --tp 4 --plan auto >"$work/out" 2>"$work/err" || fail "plan check --plan auto"
[ "$(cat "$work/err")" = "tprun: --plan auto: suggested plan of llama (layers.*.self_attn.k_proj: kv_replicated, layers.*.self_attn.v_proj: kv_replicated)" ] || fail "--plan auto does not say what it chose in one line"
"$tprun" plan suggest "${model[@]}" --tp 4 >"$work/plan.yaml" && "$tprun" plan check "${model[@]}" --tp 4 --plan "$work/plan.yaml" >"$work/out" 2>"$work/err" || fail "a suggested plan does not hold"
"$tprun" plan show "${model[@]}" --tp 2 --html "$work/page.html" >"$work/out" || fail "plan show --html"
[ ! -s "$work/out" ] && grep -q "</html>" "$work/page.html" || fail "plan show --html: no page"
"$tprun" plan show "${model[@]}" --tp 2 --json | grep -q '"tp_size": *2' || fail "plan show --json"

# A program's environment is what `env` prints, and what a shell has evaluated is kept.
(
  eval "$("$tprun" env --device cpu -n 2)"
  "$tprun" --device cpu --allow-run-as-root -n 2 -- sh -c '[ $RANK = 0 ] || echo "$MASTER_ADDR:$MASTER_PORT $WORLD_SIZE" >&2' 2>&1 </dev/null | grep -q "] $MASTER_ADDR:$MASTER_PORT 2$"
) || fail "an evaluated env is not kept"

# The environment as a shell takes it.
(
  eval "$("$tprun" env --device cpu -n 2 --rank 1)"
  [ "$RANK $LOCAL_RANK $WORLD_SIZE" = "1 1 2" ] && [ -n "$MASTER_PORT" ]
) || fail "env cannot be evaluated"
eval "$("$tprun" completion bash)" && complete -p tprun >"$work/out" || fail "completion cannot be evaluated"
"$tprun" --version | grep -q "^tprun [0-9]" || fail "--version"

[ $failures = 0 ] && echo "the command line holds"
exit $((failures > 0))
