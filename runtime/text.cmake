# Text and its rules: tokenizer, chat template, sampling, the job of a worker. No torch, no MPI.
tp_library(tp_text
  SOURCES job.cc sampler.cc
  LINK tp_sharding nlohmann_json::nlohmann_json)
