# A program as a user of torch_tpu writes it, but for one line: where no chip is on the PCI bus the device has to be asked for.
# Sums, gathers and meets over all ranks, and prints what this rank got.
import os

import torch
import torch.distributed as dist
import torch_tpu
from torch_tpu import _loader

_loader._init_device("tpu")
rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
dist.init_process_group("tpu_dist", rank=rank, world_size=world_size)
x = torch.full((4,), float(rank + 1)).to("tpu")
dist.all_reduce(x)
dist.barrier()
parts = [torch.zeros(2, device="tpu") for _ in range(world_size)]
dist.all_gather(parts, torch.tensor([float(rank), 10.0 * rank]).to("tpu"))
print(f"rank {rank} sum {x.cpu().tolist()} parts {[part.cpu().tolist() for part in parts]}", flush=True)
