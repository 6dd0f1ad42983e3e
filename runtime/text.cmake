# tp_text: tokenizer, chat template, sampler's rules, the job; no torch, no MPI.
