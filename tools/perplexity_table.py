#!/usr/bin/env python3
"""Perplexity of a model with each kind of weights, by `tprun score`: the table of docs/quantization.md.

usage: perplexity_table.py TPRUN MODEL TEXT [--write docs/quantization.md]

TEXT is cut into pieces at its "---" lines. Without --write the table is printed.
"""
import argparse
import json
import math
import os
import subprocess
import tempfile

KINDS = [("bfloat16", []), ("int8", ["--weights", "int8"]), ("int4", ["--weights", "int4"]),
         ("int4-128", ["--weights", "int4-128"]),
         ("int8, activations too", ["--weights", "int8", "--activations", "int8"]),
         ("int4, activations int8", ["--weights", "int4", "--activations", "int8"]),
         ("bfloat16, cache int8", ["--cache-dtype", "int8"])]
BEGIN, END = "<!-- perplexity: made by tools/perplexity_table.py -->\n", "<!-- end -->\n"


def score(tprun, model, texts, options):
    """Tokens that were predicted, their negative log-likelihood, and the bytes of the weights."""
    with tempfile.TemporaryDirectory() as place:
        lines, stats = os.path.join(place, "texts.jsonl"), os.path.join(place, "stats.json")
        with open(lines, "w") as file:
            file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
        command = [tprun, "score", "--model", model, "--device", "cpu", "--dtype", "bfloat16", "--input", lines, "--quiet",
                   "--stats", stats, *options]
        result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        scores = [json.loads(line) for line in result.stdout.splitlines()]
        with open(stats) as file:
            size = json.load(file)["ranks"][0]["weights_bytes"]
    return sum(one["tokens"] - 1 for one in scores), sum(one["nll"] or 0 for one in scores), size


def table(tprun, model, texts):
    rows, base = [], None
    for name, options in KINDS:
        tokens, nll, size = score(tprun, model, texts, options)
        perplexity = math.exp(nll / tokens)
        base = base or perplexity
        rows.append(f"| {name} | {size / 1e6:.1f} MB | {perplexity:.3f} | {100 * (perplexity / base - 1):+.2f} % |\n")
    return "| weights | bytes | perplexity | change |\n|---|---|---|---|\n" + "".join(rows)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    for name in ("tprun", "model", "text"):
        parser.add_argument(name)
    parser.add_argument("--write")
    arguments = parser.parse_args()
    with open(arguments.text) as file:
        texts = [piece.strip() for piece in file.read().split("\n---\n") if piece.strip()]
    made = table(arguments.tprun, arguments.model, texts)
    if not arguments.write:
        print(made, end="")
        return
    with open(arguments.write) as file:
        page = file.read()
    before, rest = page.split(BEGIN)
    with open(arguments.write, "w") as file:
        file.write(before + BEGIN + made + END + rest.split(END, 1)[1])


main()
