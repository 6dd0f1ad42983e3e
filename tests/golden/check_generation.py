"""Compares `tprun generate` with what transformers wrote (tests/golden/generation), and drawn texts between numbers of ranks.

usage: check_generation.py TPRUN [ranks ...]
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


TINY = HERE.parent.parent / "examples" / "tiny"
SEEDS = 20


def run(tprun, model, lines, ranks):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        for line in lines:
            file.write(json.dumps({key: value for key, value in line.items() if key != "expected"}) + "\n")
        file.flush()
        command = [tprun, "--device", "cpu", "--quiet", "-n", str(ranks), "--dtype", "float32", "--format", "json", "generate",
                   "--model", str(model), "--input", file.name]
        as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        output = subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=120,
                                env=os.environ | as_root).stdout
    return [json.loads(line) for line in output.splitlines()]


def differences(line, got):
    want = line["expected"]
    for key in ("ids", "finish_reason"):
        if got[key] != want[key]:
            yield f"{key}: {got[key]}, not {want[key]}"
    far = max((abs(a - b) for a, b in zip(got["logprobs"], want["logprobs"])), default=0)
    if len(got["logprobs"]) != len(want["ids"]) or far > 1e-3:
        yield f"logprobs: {got['logprobs']}, not {want['logprobs']}"


def drawn_differences(tprun, ranks):
    """The same seed writes the same text for any number of ranks, and again; one rank draws for all."""
    lines = [{"prompt": "The", "seed": seed, "do_sample": True, "temperature": 1.5, "max_new_tokens": 60} for seed in range(SEEDS)]
    first = run(tprun, TINY, lines, 1)
    if len({line["text"] for line in first}) != SEEDS:
        yield "different seeds write the same text"
    for count in ranks:
        for one, other in zip(first, run(tprun, TINY, lines, count), strict=True):
            if one != other:
                yield f"{count} ranks, seed {one['index']}: {other['text']!r}, not {one['text']!r}"


def main():
    failures = count = 0
    for path in sorted((HERE / "generation").glob("*.jsonl")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for ranks in sys.argv[2:] or ["1"]:
            results = run(sys.argv[1], HERE / "models" / path.stem, lines, ranks)
            for index, (line, got) in enumerate(zip(lines, results, strict=True)):
                count += 1
                for difference in differences(line, got):
                    failures += 1
                    print(f"{path.stem}:{index + 1}, {ranks} ranks: {difference}")
    for difference in drawn_differences(sys.argv[1], ("1", "2", "4")):
        failures += 1
        print(difference)
    print(f"{count} continuations, {failures} differences")
    return failures > 0 or count == 0


if __name__ == "__main__":
    sys.exit(main())
