#!/usr/bin/env python3
"""Checks that a `tprun generate` writes the tokens of a golden file, greedily, case by case.

    check_golden.py FILE.json -- COMMAND...

FILE.json: {"cases": [{"ids": prompt ids, "new_ids": continuation, "margins": top logit less second of each step}]}. A token
may differ where the margin is below 0.01: there two logits are so close that the order of summation decides.
"""
import json
import subprocess
import sys
import tempfile

DECIDABLE_MARGIN = 0.01


def agreement(case: dict, ids: list[int]) -> tuple[int, bool]:
    """How many tokens are equal, and whether that is as many as must be."""
    wanted, margins = case["new_ids"], case["margins"]
    equal = next((i for i, (a, b) in enumerate(zip(wanted, ids)) if a != b), min(len(wanted), len(ids)))
    return equal, equal == len(wanted) or margins[equal] < DECIDABLE_MARGIN


def main() -> int:
    path, command = sys.argv[1], sys.argv[3:]
    with open(path, encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    longest = max(len(case["new_ids"]) for case in cases)
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as prompts:
        for case in cases:
            print(json.dumps({"ids": case["ids"], "max_new_tokens": len(case["new_ids"])}), file=prompts, flush=True)
        run = subprocess.run([*command, "--input", prompts.name, "--format", "json", "--max-new-tokens", str(longest)],
                             stdout=subprocess.PIPE, text=True)
    if run.returncode != 0:
        return run.returncode
    results = [json.loads(line) for line in run.stdout.splitlines()]
    good = len(results) == len(cases)
    for case, result in zip(cases, results):
        equal, enough = agreement(case, result["ids"])
        good = good and enough
        print(f"{'good' if enough else 'WRONG'}: {equal} of {len(case['new_ids'])} tokens equal: {result['text']!r}", file=sys.stderr)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
