"""llama.cpp through llama-cpp-python: run_llama_cpp.py FILE.gguf --weights bf16, converted from the checkpoint."""
import time

import llama_cpp
import workload

arguments = workload.arguments(__doc__, weights="bf16")
begin = time.time()
model = llama_cpp.Llama(arguments.model, n_ctx=arguments.prompt + arguments.new + 8, n_threads=arguments.threads,
                        n_threads_batch=arguments.threads, verbose=False)
load_s = time.time() - begin
ids = workload.prompt_ids(arguments.prompt)


def generate(count):
    model.reset()
    watch = workload.Stopwatch()
    for _ in model.generate(ids, temp=0.0, top_k=1, repeat_penalty=1.0, reset=True):
        watch.tick()
        if len(watch.ticks) == count:
            return watch


generate(4)
workload.report("llama.cpp", arguments.weights, *generate(arguments.new).rates(arguments.prompt), load_s)
