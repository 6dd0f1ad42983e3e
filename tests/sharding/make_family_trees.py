#!/usr/bin/env python3
"""Write family_trees.json: for every model_type of the table a small configuration and the names and shapes of the parameters
that transformers gives it. Needs transformers and torch; no weights are made.

    python make_family_trees.py family_trees.json
"""
import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM

transformers.logging.set_verbosity_error()
SIZES = dict(vocab_size=32, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=8,
             num_key_value_heads=4, max_position_embeddings=128, bos_token_id=1, eos_token_id=2, pad_token_id=0)
EXPERTS = dict(num_experts_per_tok=2, moe_intermediate_size=24)
LATENT = dict(num_key_value_heads=8, n_routed_experts=8, q_lora_rank=24, kv_lora_rank=16, qk_nope_head_dim=16,
              qk_rope_head_dim=8, v_head_dim=12, attention_bias=True, first_k_dense_replace=1)
DENSE_LATENT = {k: v for k, v in LATENT.items() if k not in ("n_routed_experts", "first_k_dense_replace")}
GPTJ = dict(n_embd=64, n_head=8, n_layer=2, n_positions=128, rotary_dim=4)
CASES = {  # model_type: what differs from SIZES; options that add parameters are on
    "cohere": dict(use_qk_norm=True), "cohere2": dict(attention_bias=True), "deepseek_v2": dict(LATENT, mlp_bias=True, **EXPERTS),
    "deepseek_v3": dict(LATENT, n_group=2, topk_group=1, **EXPERTS), "ernie4_5": dict(use_bias=True, head_dim=16), "exaone4": {},
    "gemma": dict(head_dim=16), "gemma2": dict(head_dim=16), "gemma3_text": dict(head_dim=16), "glm": dict(head_dim=16),
    "glm4": dict(head_dim=16), "glm4_moe": dict(n_routed_experts=4, use_qk_norm=True, attention_bias=True, **EXPERTS),
    "gpt_neox": {}, "gpt_oss": dict(num_local_experts=4, num_experts_per_tok=2, head_dim=16),
    "granite": dict(attention_bias=True, mlp_bias=True), "granitemoe": dict(num_local_experts=4, num_experts_per_tok=2),
    "hunyuan_v1_dense": dict(attention_bias=True, head_dim=16), "llama": dict(attention_bias=True, mlp_bias=True),
    "mistral": dict(head_dim=16), "mixtral": dict(num_local_experts=4), "olmo": dict(attention_bias=True, clip_qkv=4.0),
    "olmo2": {}, "olmo3": {}, "phi": dict(qk_layernorm=True), "phi3": {}, "qwen2": {},
    "qwen2_moe": dict(num_experts=4, shared_expert_intermediate_size=40, decoder_sparse_step=2, **EXPERTS),
    "qwen3": dict(attention_bias=True, head_dim=16), "qwen3_moe": dict(num_experts=4, mlp_only_layers=[1], **EXPERTS),
    "seed_oss": dict(attention_out_bias=True, mlp_bias=True, head_dim=16), "smollm3": dict(attention_bias=True, mlp_bias=True),
    "starcoder2": dict(use_bias=False),
    "arcee": dict(attention_bias=True, mlp_bias=True), "cwm": dict(head_dim=16, mlp_bias=True),
    "dots1": dict(n_routed_experts=4, n_shared_experts=2, first_k_dense_replace=1, attention_bias=True, **EXPERTS),
    "flex_olmo": dict(num_experts=4, num_experts_per_tok=2, attention_bias=True),
    "glm4_moe_lite": dict({k: v for k, v in LATENT.items() if k != "first_k_dense_replace"}, **EXPERTS),
    "helium": dict(head_dim=8, attention_bias=True, mlp_bias=True), "hyperclovax": dict(mlp_bias=True),
    "internlm3": dict(head_dim=16, attention_bias=True, mlp_bias=True), "iquestcoder": dict(head_dim=16, mlp_bias=True),
    "jais2": {}, "mellum": dict(head_dim=16, num_experts=4, mlp_layer_types=["sparse", "dense"], **EXPERTS), "ministral": dict(head_dim=16),
    "olmoe": dict(num_experts=4, num_experts_per_tok=2, attention_bias=True), "vaultgemma": dict(head_dim=8),
    "youtu": DENSE_LATENT,
    "exaone": dict(attention_bias=True, mlp_bias=True), "ministral3": dict(head_dim=16), "nanochat": dict(attention_bias=True),
    "ernie4_5_moe": dict(use_bias=True, moe_num_experts=4, moe_k=2, moe_intermediate_size=24),
    "hunyuan_v1_moe": dict(head_dim=16, num_experts=4, moe_topk=2, attention_bias=True), "solar_open": dict(head_dim=16, n_routed_experts=4, **EXPERTS),
    "exaone_moe": dict(num_experts=4, **EXPERTS), "hy_v3": dict(head_dim=16, num_experts=4, mlp_bias=True, **EXPERTS),
    "nemotron": dict(attention_bias=True, mlp_bias=True), "apertus": dict(attention_bias=True), "apertus1p5_text": {},
    "gptj": GPTJ, "codegen": GPTJ, "minicpm3": dict(DENSE_LATENT, mlp_bias=True), "granite_swa": dict(mlp_bias=True),
    "granitemoeshared": dict(num_local_experts=4, shared_intermediate_size=40), "axk1": dict(LATENT, n_group=2, topk_group=1, **EXPERTS),
    "granitemoe_swa": dict(num_local_experts=4, shared_intermediate_size=40), "aria_text": dict(moe_num_experts=4, mlp_bias=True),
    "flint": dict(head_dim=16, num_experts=4, shared_expert_intermediate_size=40, mlp_only_layers=[0], **EXPERTS),
    "kolibri1": dict(head_dim=16, num_experts=4, shared_expert_intermediate_size=40, **EXPERTS),
    "afmoe": dict(head_dim=16, num_experts=4, attention_bias=True, **EXPERTS), "phimoe": dict(num_local_experts=4, lm_head_bias=True),
    "cohere2_moe": dict(head_dim=16, num_experts=4, num_shared_experts=2, mlp_layer_types=["dense", "sparse"]),
    "llama4_text": dict(head_dim=16, num_local_experts=4, moe_layers=[1], intermediate_size_mlp=72),
    "minimax_m2": dict(head_dim=16, num_local_experts=4, num_experts_per_tok=2), "sarvam_mla": dict(LATENT, **EXPERTS),
    "deepseek_v32": dict(LATENT, n_group=2, topk_group=1, **EXPERTS), "glm_moe_dsa": dict(LATENT, **EXPERTS),
    "sarvam_moe": dict(head_dim=16, n_routed_experts=4, **EXPERTS),
}


def tree(model_type, change):
    config = AutoConfig.for_model(model_type, **{**SIZES, **change})
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    # The tree names every base model "model". Of xIELU two numbers are stored that never change; indexers never choose here.
    prefix = model.base_model_prefix + "."
    names = {n.replace(prefix, "model.", 1) if n.startswith(prefix) else n: list(t.shape) for n, t in model.state_dict().items()
             if not n.endswith((".act_fn.beta", ".act_fn.eps")) and ".indexer." not in n}
    return {"config": json.loads(config.to_json_string(use_diff=False)), "parameters": names}


if __name__ == "__main__":
    trees = {model_type: tree(model_type, change) for model_type, change in sorted(CASES.items())}
    with open(sys.argv[1], "w") as out:
        rows = (f'"{k}": {json.dumps(v, sort_keys=True, separators=(",", ":"))}' for k, v in trees.items())
        out.write("{\n" + ",\n".join(rows) + "\n}\n")
