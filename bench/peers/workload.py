"""What every runner shares: the same random ids, greedy steps, and one line of JSON as the result."""
import argparse
import json
import random
import time


def arguments(description, **extra):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("model")
    parser.add_argument("--prompt", type=int, default=128)
    parser.add_argument("--new", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    for name, default in extra.items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(default), default=default)
    return parser.parse_args()


def prompt_ids(count, vocab=151000):
    numbers = random.Random(7)
    return [numbers.randrange(vocab) for _ in range(count)]


class Stopwatch:
    """Time of each token of a generation: tick() once for each."""

    def __init__(self):
        self.begin = time.time()
        self.ticks = []

    def tick(self):
        self.ticks.append(time.time())

    def rates(self, prompt):
        first, last = self.ticks[0], self.ticks[-1]
        return prompt / (first - self.begin), (len(self.ticks) - 1) / (last - first)


def report(peer, weights, prefill, decode, load_s):
    print(json.dumps({"peer": peer, "weights": weights, "prefill_tokens_per_s": round(prefill, 2),
                      "decode_tokens_per_s": round(decode, 2), "load_s": round(load_s, 2)}), flush=True)
