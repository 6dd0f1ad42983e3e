"""OpenVINO GenAI (package openvino-genai): run_openvino.py DIR, a directory that optimum's exporter made from the checkpoint, or a
GGUF file with a token list."""
import time

import numpy
import openvino
import openvino_genai
import workload

arguments = workload.arguments(__doc__, weights="float16")
begin = time.time()
pipeline = openvino_genai.LLMPipeline(arguments.model, "CPU", INFERENCE_NUM_THREADS=arguments.threads)
load_s = time.time() - begin
config = openvino_genai.GenerationConfig()
config.max_new_tokens, config.ignore_eos, config.do_sample = arguments.new, True, False


def generate(ids):
    return pipeline.generate(openvino.Tensor(numpy.array([ids], dtype=numpy.int64)), config).perf_metrics


# Another prompt first: the second run of one prompt finds its prefix in a cache.
generate(workload.prompt_ids(arguments.prompt + 1)[1:])
metrics = generate(workload.prompt_ids(arguments.prompt))
workload.report("OpenVINO GenAI", arguments.weights, arguments.prompt / (metrics.get_ttft().mean / 1e3),
                1e3 / metrics.get_tpot().mean, load_s)
