"""bench, --trace and --weights through the command line, on two ranks. usage: bench.py TPRUN MODEL"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

TPRUN, MODEL = sys.argv[1:3]
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def tprun(*arguments):
    return subprocess.run([TPRUN, "--quiet", "--device", "cpu", *arguments], capture_output=True, text=True, timeout=120,
                          env=ENVIRONMENT, stdin=subprocess.DEVNULL)


class Bench(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def ran(self, *arguments):
        done = tprun(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def refused(self, message, *arguments):
        done = tprun(*arguments)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn(message, done.stderr)

    def test_sweeps_give_one_report(self):
        plot = self.dir / "plot.svg"
        out = self.ran("bench", "--model", MODEL, "--sweep-tp", "1,2", "--sweep-prompt", "8,20", "--sweep-batch", "1,3",
                       "--max-new-tokens", "4", "--json", "--plot", str(plot))
        runs = json.loads(out)["runs"]
        self.assertEqual([(run["tp_size"], run["prompt"], run["batch"]) for run in runs],
                         [(tp, prompt, batch) for tp in (1, 2) for prompt in (8, 20) for batch in (1, 3)])
        for run in runs:
            self.assertEqual(run["new"], 4)
            for rate in ("prefill_tokens_per_s", "decode_tokens_per_s", "read_bandwidth_bytes_per_s", "peak_flops_per_s",
                         "bytes_per_token", "anonymous_bytes"):
                self.assertGreater(run[rate], 0, rate)
            self.assertEqual(run["collective_ratio"] > 0, run["tp_size"] > 1)
        texts = "".join(xml.etree.ElementTree.parse(plot).getroot().itertext())
        self.assertIn("tp 2, prompt 20, new 4, batch 3", texts)

    def test_trace_has_a_track_for_each_rank(self):
        trace = self.dir / "trace.json"
        self.ran("-n", "2", "generate", "--model", MODEL, "--prompt", "A chip is", "--max-new-tokens", "3", "--trace", str(trace))
        events = json.loads(trace.read_text())["traceEvents"]
        for rank in (0, 1):
            names = [event["name"] for event in events if event["ph"] == "X" and event["pid"] == rank]
            self.assertEqual((names.count("prefill"), names.count("decode")), (1, 2))
            self.assertTrue({"linears", "norm", "attention", "all_reduce", "all_gather"} <= set(names), set(names))

    def test_quantized_weights_take_less(self):
        sizes = {}
        for kind in ("", "int8", "int4"):
            stats = self.dir / "stats.json"
            chosen = ["--weights", kind] if kind else []
            self.ran("-n", "2", "generate", "--model", MODEL, "--prompt", "A chip is", "--max-new-tokens", "3", *chosen, "--stats",
                     str(stats))
            sizes[kind] = json.loads(stats.read_text())["ranks"][0]["weights_bytes"]
        self.assertLess(sizes["int8"], 0.6 * sizes[""])
        self.assertLess(sizes["int4"], 0.8 * sizes["int8"])

    def test_what_cannot_be_is_refused(self):
        self.refused("--sweep-tp: and --nproc-per-node are both given", "-n", "2", "bench", "--model", MODEL, "--sweep-tp", "1,2")
        self.refused("`1,` is not a list of whole numbers", "bench", "--model", MODEL, "--sweep-tp", "1,")
        self.refused("--plot: is for bench", "generate", "--model", MODEL, "--prompt", "a", "--plot", "x.svg")
        self.refused("no such directory", "bench", "--model", MODEL, "--plot", "/no/such/dir/x.svg")
        self.refused("are not whole groups of 128", "-n", "4", "generate", "--model", MODEL, "--prompt", "a", "--weights", "int4-128")


unittest.main(argv=sys.argv[:1])
