#!/usr/bin/env python3
"""Trains the embedded model: a Qwen3-shaped language model of about a million parameters that knows text.md by heart.

    pip install torch==2.13.0 transformers==5.24.0 tokenizers==0.23.3
    examples/tiny/train.py [--out examples/tiny] [--steps 400] [--threads 2]

Writes a checkpoint as save_pretrained does (bfloat16), and golden.json: the greedy continuation of the prompts that the
examples and tests show, with the margin (top logit less second) of each token, from a bfloat16 run of transformers. A margin
over 0.5 survives any order of summation, so the text is the same on 1, 2 and 4 ranks. The script fails if one is smaller.
"""
import argparse
import json
import math
import pathlib
import random
import re
import sys

import torch
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

HERE = pathlib.Path(__file__).resolve().parent
END, IM_START, IM_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CHAT_TEMPLATE = (
    "{%- for message in messages %}{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}"
    "{%- endfor %}{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}"
)
SHOWN = [
    "The French Bread Law states",
    "A chip is",
    "Tensor parallelism",
    "Once upon a time",
]
SHOWN_CHATS = ["What is tensor parallelism?", "Hello!", "Can you write a poem?"]
SMALLEST_MARGIN = 0.5


def read_documents() -> list[str]:
    """The pages of text.md; a page that starts with <user> becomes a conversation in the chat template's form."""
    pages = [page.strip() for page in re.split(r"\n---\n", (HERE / "text.md").read_text(encoding="utf-8"))]
    return [as_chat(page) if page.startswith("<user>") else page + END for page in pages]


def as_chat(page: str) -> str:
    user, assistant = re.fullmatch(r"<user>(.*)\n<assistant>(.*)", page, re.DOTALL).groups()
    return chat_prompt(user) + assistant + IM_END


def chat_prompt(user: str) -> str:
    return f"{IM_START}user\n{user}{IM_END}\n{IM_START}assistant\n"


def train_tokenizer(documents: list[str], vocab_size: int) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    split = pre_tokenizers.Split(Regex(WORDS), behavior="isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(vocab_size=vocab_size, special_tokens=[END, IM_START, IM_END], show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator((re.sub(r"<\|\w+\|>", "", d) for d in documents), trainer)
    return tokenizer


def make_model(tokenizer: Tokenizer) -> Qwen3ForCausalLM:
    config = Qwen3Config(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=128, intermediate_size=384, num_hidden_layers=4,
        num_attention_heads=8, num_key_value_heads=4, head_dim=32, max_position_embeddings=1024,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0}, tie_word_embeddings=False,
        bos_token_id=None, pad_token_id=tokenizer.token_to_id(END), eos_token_id=tokenizer.token_to_id(END))
    model = Qwen3ForCausalLM(config)
    model.generation_config.eos_token_id = [tokenizer.token_to_id(IM_END), tokenizer.token_to_id(END)]
    return model


def variants(document: str) -> list[str]:
    """The document and, if it is prose, what is left of it from each of its sentences on."""
    if document.startswith(IM_START):
        return [document]
    return [document] + [document[m.end():] for m in re.finditer(r"[.!?] ", document)]


def make_batch(pages: list[list[list[int]]], rows: int, pad: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows of ids and labels, padded on the right: whole documents, and every third time one that starts in the middle."""
    chosen = [random.choice(page) if random.random() < 0.35 else page[0] for page in random.choices(pages, k=rows)]
    width = max(map(len, chosen))
    ids = torch.tensor([row + [pad] * (width - len(row)) for row in chosen])
    labels = torch.tensor([row + [-100] * (width - len(row)) for row in chosen])
    return ids, labels


def train(model: Qwen3ForCausalLM, tokenizer: Tokenizer, documents: list[str], steps: int) -> None:
    pages = [[tokenizer.encode(v).ids for v in variants(d)] for d in documents]
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.0, weight_decay=0.01, betas=(0.9, 0.98))
    model.train()
    for step in range(steps):
        rate = 3e-3 * min(1.0, step / 40) * (0.5 + 0.5 * math.cos(math.pi * step / steps)) + 1e-5
        for group in optimizer.param_groups:
            group["lr"] = rate
        ids, labels = make_batch(pages, 16, tokenizer.token_to_id(END))
        loss = model(input_ids=ids, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 20 == 0 or step == steps - 1:
            print(f"step {step}: loss {loss.item():.4f}", flush=True)


def continuation(model: Qwen3ForCausalLM, tokenizer: Tokenizer, prompt: str) -> dict:
    prompt_ids = tokenizer.encode(prompt).ids
    out = model.generate(torch.tensor([prompt_ids]), max_new_tokens=200, do_sample=False, output_logits=True, return_dict_in_generate=True)
    top = torch.cat(out.logits).float().topk(2).values
    ids = out.sequences[0, len(prompt_ids):].tolist()
    ended = ids[-1] in model.generation_config.eos_token_id
    margins = [round(m, 4) for m in (top[:, 0] - top[:, 1]).tolist()]
    return {"prompt": prompt, "ids": prompt_ids, "new_ids": ids, "text": tokenizer.decode(ids, skip_special_tokens=True),
            "finish_reason": "eos" if ended else "length", "min_margin": min(margins), "margins": margins}


def save(model: Qwen3ForCausalLM, tokenizer: Tokenizer, out: pathlib.Path) -> None:
    model.save_pretrained(out)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=IM_END, pad_token=END, chat_template=CHAT_TEMPLATE,
                            model_max_length=1024, clean_up_tokenization_spaces=False).save_pretrained(out)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=HERE)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1993)
    random.seed(1993)

    documents = read_documents()
    tokenizer = train_tokenizer(documents, 768)
    model = make_model(tokenizer)
    print(f"{model.num_parameters() / 1e6:.2f} M parameters, vocabulary {tokenizer.get_vocab_size()}")
    train(model, tokenizer, documents, args.steps)
    model = model.to(torch.bfloat16).eval()
    save(model, tokenizer, args.out)

    cases = [continuation(model, tokenizer, p) for p in SHOWN + [chat_prompt(u) for u in SHOWN_CHATS]]
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    golden = f'{{"made_with": "transformers, bfloat16, greedy", "cases": [\n{lines}\n]}}\n'
    (args.out / "golden.json").write_text(golden, encoding="utf-8")
    bad = False
    for case in cases:
        print(f"\n[{case['finish_reason']}, smallest margin {case['min_margin']}] {case['prompt']}|{case['text']}")
        bad |= case["min_margin"] <= SMALLEST_MARGIN or case["finish_reason"] != "eos"
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
