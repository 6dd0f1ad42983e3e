#!/usr/bin/env bash
# A file of prompts, killed again and again and resumed: the output is that of an undisturbed run.
# usage: resume.sh TPRUN MODEL [PROMPTS] [KILLS]
set -u
tprun=$1 model=$2 prompts=${3:-500} kills=${4:-5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

for ((i = 0; i < prompts; ++i)); do
  if ((i % 50 == 7)); then echo '{"ids":[]}'; else
    echo "{\"prompt\":\"You are a helpful machine. The $i. chip\",\"seed\":$i,\"do_sample\":true,\"max_new_tokens\":$((20 + i % 30)),\"ignore_eos\":true}"
  fi
done >"$work/in.jsonl"
run=("$tprun" --device cpu --quiet -n 2 --grace 1 --format json --skip-bad generate --model "$model" --input "$work/in.jsonl")

"${run[@]}" --output "$work/whole.jsonl" </dev/null || { echo "FAIL: the undisturbed run"; exit 1; }
[ "$(wc -l <"$work/whole.jsonl")" = "$prompts" ] || { echo "FAIL: $(wc -l <"$work/whole.jsonl") lines of $prompts"; exit 1; }

lines() { if [ -e "$work/out.jsonl" ]; then wc -l <"$work/out.jsonl"; else echo 0; fi; }
for ((kill = 1; kill <= kills; ++kill)); do
  before=$(lines)
  "${run[@]}" --output "$work/out.jsonl" --resume </dev/null 2>"$work/err" &
  job=$!
  # After a random number of new lines. All kills together leave at least half of the lines, so that a fast machine is not done
  # before the last of them, however many lines it writes between two looks.
  enough=$((before + 1 + RANDOM % (prompts / (2 * (kills + 1)))))
  while [ "$(lines)" -lt $enough ] && [ -d /proc/$job ]; do sleep 0.02; done
  signals=(KILL TERM INT)
  kill -"${signals[$((RANDOM % 3))]}" $job 2>"$work/kill"
  wait $job 2>"$work/wait"
done
before=$(lines)
# The last byte may be the middle of a line; a run that was killed may still be on its way out.
for attempt in 1 2 3 4 5; do
  "${run[@]}" --output "$work/out.jsonl" --resume </dev/null 2>"$work/err" && break
  sleep 1
done
cmp "$work/whole.jsonl" "$work/out.jsonl" || { echo "FAIL: the resumed output differs"; cat "$work/err"; exit 1; }
[ "$before" -lt "$prompts" ] || { echo "FAIL: nothing was left to resume"; exit 1; }
"${run[@]}" --output "$work/out.jsonl" --resume </dev/null || { echo "FAIL: resuming what is complete: code $?"; exit 1; }
cmp "$work/whole.jsonl" "$work/out.jsonl" && echo "$kills kills, nothing lost or doubled"
