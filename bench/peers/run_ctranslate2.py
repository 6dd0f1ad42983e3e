"""CTranslate2: run_ctranslate2.py DIR --weights int8, a directory that ct2-transformers-converter made from the checkpoint."""
import json
import os
import pathlib
import time

import ctranslate2
import workload

arguments = workload.arguments(__doc__, weights="int8")
begin = time.time()
model = ctranslate2.Generator(arguments.model, device="cpu", compute_type=arguments.weights, intra_threads=arguments.threads)
load_s = time.time() - begin
vocabulary = json.loads((pathlib.Path(arguments.model) / "vocabulary.json").read_text())
tokens = [vocabulary[i] for i in workload.prompt_ids(arguments.prompt)]


def generate(count):
    watch = workload.Stopwatch()
    for _ in model.generate_tokens(tokens, max_length=count, min_length=count, sampling_topk=1, end_token=[]):
        watch.tick()
    return watch


generate(4)
workload.report("CTranslate2", model.compute_type, *generate(arguments.new).rates(arguments.prompt), load_s)
os._exit(0)  # some versions abort while the interpreter ends
