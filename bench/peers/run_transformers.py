"""transformers: run_transformers.py DIR for one process, torchrun --nproc_per_node=2 run_transformers.py DIR for tensor parallel."""
import os
import time

import torch
import workload
from transformers import AutoModelForCausalLM, StoppingCriteria, StoppingCriteriaList

arguments = workload.arguments(__doc__, dtype="bfloat16")
ranks = int(os.environ.get("WORLD_SIZE", "1"))
torch.set_num_threads(max(1, arguments.threads // ranks))


class Ticks(StoppingCriteria):
    def __init__(self, watch):
        self.watch = watch

    def __call__(self, ids, scores, **unused):
        self.watch.tick()
        return torch.zeros(ids.shape[0], dtype=torch.bool)


def generate(model, ids, count):
    watch = workload.Stopwatch()
    with torch.no_grad():
        model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=count, do_sample=False,
                       cache_implementation="static", disable_compile=True, stopping_criteria=StoppingCriteriaList([Ticks(watch)]))
    return watch


begin = time.time()
options = {}
if ranks > 1:
    from transformers.distributed import DistributedConfig
    options["distributed_config"] = DistributedConfig(tp_size=ranks)
model = AutoModelForCausalLM.from_pretrained(arguments.model, dtype=getattr(torch, arguments.dtype), **options).eval()
load_s = time.time() - begin
model.generation_config.eos_token_id = None
model.generation_config.pad_token_id = 0
ids = torch.tensor([workload.prompt_ids(arguments.prompt)])
generate(model, ids, 4)
prefill, decode = generate(model, ids, arguments.new).rates(arguments.prompt)
if int(os.environ.get("RANK", "0")) == 0:
    workload.report(f"transformers tp {ranks}", arguments.dtype, prefill, decode, load_s)
if ranks > 1:
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
