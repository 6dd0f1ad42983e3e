"""Runs tprun and its peers in turns and prints what each reaches as a ratio to the others.

compare.py --model DIR [--rounds 3] [--weights stored,int8,int4] [--peer NAME=COMMAND ...]

COMMAND is a shell command that prints one line of JSON as the run_*.py beside this file do, for example
  --peer 'transformers=/venv/bin/torchrun --nproc_per_node=2 run_transformers.py DIR'
Other programs on the machine change every figure: the peers take turns, and of each the best round counts.
"""
import argparse
import itertools
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def last_json(text):
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    return None


def run(command, timeout):
    """The JSON that a command prints, or None with its last words on stderr."""
    # A session of its own: what a shell started would go on beside the next peer otherwise, when time is over.
    process = subprocess.Popen(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=HERE,
                               start_new_session=True)
    try:
        out, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        end_session(process)
        print(f"no result in {timeout} s: {command}", file=sys.stderr)
        return None
    result = last_json(out) if process.returncode == 0 else None
    if result is None:
        print(f"no result: {command}\n{errors.strip()[-400:]}", file=sys.stderr)
    return result


def end_session(process):
    """Lets the processes clean up after themselves before it makes an end."""
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.communicate(timeout=15)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def tprun(arguments, ranks, weights):
    root = " --allow-run-as-root" if os.geteuid() == 0 else ""
    command = (f"{shlex.quote(arguments.tprun)}{root} --quiet --device cpu --nproc-per-node {ranks} bench --json "
               f"--model {shlex.quote(arguments.model)} --prompt-tokens {arguments.prompt} --max-new-tokens {arguments.new}"
               + ("" if weights == "stored" else f" --weights {weights}"))
    result = run(command, arguments.timeout)
    return dict(result["runs"][0], peer=f"tprun tp {ranks}", weights=weights) if result else None


def keep_best(best, result):
    kept = best.setdefault(result["peer"] + ", " + result["weights"], dict(result))
    for rate in ("prefill_tokens_per_s", "decode_tokens_per_s"):
        kept[rate] = max(kept[rate], result[rate])
    kept["load_s"] = min(kept["load_s"], result["load_s"])


def width(weights):
    """What a peer's weights are compared with: 4 or 8 bits, all others with the checkpoint as it is stored."""
    return next((bits for bits in ("4", "8") if weights.startswith(("int" + bits, "q" + bits))), "stored")


def print_table(best):
    fastest = {}
    for result in sorted(best.values(), key=lambda r: r["decode_tokens_per_s"]):
        if result["peer"].startswith("tprun"):
            fastest[width(result["weights"])] = result
    print(f"{'':34s} prefill tokens/s  decode tokens/s   load s  tprun with such weights is so many times as fast")
    for name, result in sorted(best.items(), key=lambda item: -item[1]["decode_tokens_per_s"]):
        line = f"{name:34s} {result['prefill_tokens_per_s']:16.1f} {result['decode_tokens_per_s']:16.2f} {result['load_s']:8.2f}"
        if (reference := fastest.get(width(result["weights"]))) is not None:
            ratios = [reference[rate] / result[rate] for rate in ("prefill_tokens_per_s", "decode_tokens_per_s")]
            line += f"  prefill {ratios[0]:.2f}, decode {ratios[1]:.2f}"
        print(line)
        if "bandwidth_ratio" in result:
            print(f"{'':34s} {100 * result['bandwidth_ratio']:.0f}% of the read bandwidth, in its last round")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--tprun", default=str(HERE.parent.parent / "build/install/bin/tprun"))
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=COMMAND")
    parser.add_argument("--ranks", default="1,2")
    parser.add_argument("--weights", default="stored", help="of tprun: stored, int8, int4, int4-128; several with commas")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--prompt", type=int, default=128)
    parser.add_argument("--new", type=int, default=64)
    parser.add_argument("--timeout", type=float, default=900)
    arguments = parser.parse_args()
    best = {}
    for _ in range(arguments.rounds):
        for weights, ranks in itertools.product(arguments.weights.split(","), arguments.ranks.split(",")):
            if (result := tprun(arguments, ranks, weights)) is not None:
                keep_best(best, result)
        for peer in arguments.peer:
            name, _, command = peer.partition("=")
            if (result := run(command, arguments.timeout)) is not None:
                keep_best(best, dict(result, peer=result.get("peer", name)))
    if not any(result["peer"].startswith("tprun") for result in best.values()):
        sys.exit("tprun gave no result")
    print_table(best)


if __name__ == "__main__":
    main()
