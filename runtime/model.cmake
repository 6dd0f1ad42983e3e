# tp_model, tp_collectives, tp_eager and the worker tprun-rank.
