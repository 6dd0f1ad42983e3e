"""Makes the cases of tests/golden/generation with transformers: how options change what the models of tests/golden/models write.

usage: make_generation.py [MODEL ...]

Each line of <model>.jsonl is a line for `tprun generate --input` with one key more, `expected`: what transformers gives for it in
float32 with eager attention. Lines whose choice was closer than MARGIN at any step are left out.
"""
import json
import sys
from pathlib import Path

import torch
import transformers

HERE = Path(__file__).resolve().parent
MODELS = ("tiny_llama_linear", "tiny_olmo2", "tiny_qwen3_moe")
MARGIN = 2e-3
PROMPTS = ([7, 3, 50, 51, 99, 7, 3], [5] * 6 + [6, 5, 6], [1], list(range(20, 60, 3)))
OPTIONS = (
    {},
    {"ignore_eos": True},
    {"repetition_penalty": 1.3},
    {"repetition_penalty": 0.7},
    {"no_repeat_ngram_size": 1},
    {"no_repeat_ngram_size": 2},
    {"no_repeat_ngram_size": 3},
    {"logit_bias": {"11": 3.0, "50": -100.0}},
    {"logit_bias": {"2": 4.0}},
    {"logit_bias": {"2": 4.0}, "ignore_eos": True},
    {"repetition_penalty": 1.2, "no_repeat_ngram_size": 2, "logit_bias": {"7": 2.5}},
)


def generate(model, ids, options, new_tokens):
    settings = {key: options[key] for key in ("repetition_penalty", "no_repeat_ngram_size") if key in options}
    if "logit_bias" in options:
        settings["sequence_bias"] = [[[int(token)], bias] for token, bias in options["logit_bias"].items()]
    eos = None if options.get("ignore_eos") else model.config.eos_token_id
    prompt = torch.tensor([ids])
    result = model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=new_tokens, do_sample=False,
                            eos_token_id=eos, pad_token_id=0, output_scores=True, output_logits=True,
                            return_dict_in_generate=True, **settings)
    chosen = result.sequences[0, len(ids):].tolist()
    best = [scores[0].topk(2).values for scores in result.scores]
    margin = min(float(two[0] - two[1]) for two in best)
    logprobs = [float(logits[0].log_softmax(-1)[token]) for logits, token in zip(result.logits, chosen)]
    ended = chosen[-1] in (eos if isinstance(eos, list) else [eos])
    return margin, {"ids": chosen, "finish_reason": "eos" if ended else "length", "logprobs": [round(x, 5) for x in logprobs]}


def main():
    for name in sys.argv[1:] or MODELS:
        model = transformers.AutoModelForCausalLM.from_pretrained(
            HERE / "models" / name, dtype=torch.float32, attn_implementation="eager").eval()
        model.generation_config = transformers.GenerationConfig()
        lines = []
        for ids in PROMPTS:
            for options in OPTIONS:
                margin, expected = generate(model, ids, options, 20)
                if margin >= MARGIN:
                    lines.append(json.dumps({"ids": ids, "max_new_tokens": 20, "logprobs": 0, **options, "expected": expected}))
        (HERE / "generation" / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
        print(name, len(lines), "of", len(PROMPTS) * len(OPTIONS))


if __name__ == "__main__":
    main()
