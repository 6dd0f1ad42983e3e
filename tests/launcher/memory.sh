#!/usr/bin/env bash
# Memory of the worker: what a rank of four holds of a checkpoint of 400 MB, in memory of its own and in pages of the file, above
# the same worker with a tiny model, is at most 0.3 of what one rank alone holds.
# usage: memory.sh TPRUN TINY_MODEL
set -euo pipefail
tprun=$1 tiny=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# A Llama in bfloat16 with weights of +-0.012 and +-0.023 at random.
make_model() {
  local vocab=8000 hidden=1536 inner=6144 layers=5 n
  cat >"$work/config.json" <<JSON
{"model_type": "llama", "vocab_size": $vocab, "hidden_size": $hidden, "intermediate_size": $inner, "num_hidden_layers": $layers,
 "num_attention_heads": 16, "num_key_value_heads": 16, "max_position_embeddings": 64, "rms_norm_eps": 1e-6,
 "hidden_act": "silu", "tie_word_embeddings": false, "dtype": "bfloat16"}
JSON
  {
    echo "model.embed_tokens.weight $vocab $hidden"
    for ((n = 0; n < layers; n++)); do
      for module in q k v o; do echo "model.layers.$n.self_attn.${module}_proj.weight $hidden $hidden"; done
      for module in gate up; do echo "model.layers.$n.mlp.${module}_proj.weight $inner $hidden"; done
      echo "model.layers.$n.mlp.down_proj.weight $hidden $inner"
      echo "model.layers.$n.input_layernorm.weight $hidden"
      echo "model.layers.$n.post_attention_layernorm.weight $hidden"
    done
    echo "model.norm.weight $hidden"
    echo "lm_head.weight $vocab $hidden"
  } | awk '{
      size = 2 * $2 * ($3 ? $3 : 1)
      printf "%s\"%s\": {\"dtype\": \"BF16\", \"shape\": [%s], \"data_offsets\": [%d, %d]}", (NR == 1 ? "{" : ", "), $1,
             ($3 ? $2 ", " $3 : $2), at, at + size
      at += size
    } END { printf "}"; print at >"/dev/stderr" }' >"$work/header" 2>"$work/size"
  local length
  length=$(stat -c %s "$work/header")
  {
    for ((n = 0; n < 8; n++)); do printf "\\$(printf '%03o' $((length >> (8 * n) & 255)))"; done
    cat "$work/header"
    head -c "$(cat "$work/size")" /dev/urandom | LC_ALL=C tr '\000-\177' '[\074*]' | LC_ALL=C tr '\200-\377' '[\274*]'
  } >"$work/model.safetensors"
}

# The most that a rank of $1 holds of model $2 while it writes $3 tokens, in kB: memory of its own and pages of the checkpoint.
held() {
  local ranks=$1 model=$2 tokens=$3 pid kilobytes most=0 job
  MEMORY_MARK=$$ "$tprun" --device cpu -n "$ranks" --threads 1 generate --model "$model" --ids 1,2,3,4 --max-new-tokens "$tokens" \
    --ignore-eos --dtype bfloat16 >"$work/out" 2>"$work/err" </dev/null &
  job=$!
  while kill -0 $job 2>/dev/null; do
    [ -s "$work/out" ] && for pid in $(grep -lzxs "MEMORY_MARK=$$" /proc/[0-9]*/environ | cut -d/ -f3); do
      [[ $(readlink "/proc/$pid/exe" || true) == */tprun-rank ]] || continue
      kilobytes=$(awk '/^[0-9a-f]+-[0-9a-f]+ /{ file = $6 ~ /\.safetensors$/ }
                       /^Anonymous:/{ sum += $2 }
                       /^Rss:/{ if (file) sum += $2 }
                       END { print sum + 0 }' "/proc/$pid/smaps" 2>/dev/null || echo 0)
      if [ "$kilobytes" -gt $most ]; then most=$kilobytes; fi
    done
    sleep 0.05
  done
  wait $job || { cat "$work/err" >&2; exit 1; }
  echo $most
}

make_model
one=$(held 1 "$work" 24) one_tiny=$(held 1 "$tiny" 1500) four=$(held 4 "$work" 24) four_tiny=$(held 4 "$tiny" 1500)
echo "one rank: $one kB, $one_tiny kB with the tiny model; a rank of four: $four kB, $four_tiny kB"
[ "$one_tiny" -gt 0 ] && [ "$four_tiny" -gt 0 ] || { echo "FAIL: the tiny model was not seen"; exit 1; }
[ "$one" -gt 300000 ] || { echo "FAIL: one rank was not seen with the whole model"; exit 1; }
[ $((10 * (four - four_tiny))) -le $((3 * (one - one_tiny))) ] || { echo "FAIL: more than 0.3 of one rank's"; exit 1; }
