"""Makes the tiny random checkpoints of tests/golden/models and their reference results with transformers (see README.md).

usage: make_golden.py OUT [CASE ...]
"""
import json
import os
import shutil
import sys
import zlib

import torch
import transformers
from safetensors.torch import save_file

NEW_TOKENS = 24
LENGTHS = (1, 5, 17, 40)
BATCH_LENGTHS = (6, 13)
LOGIT_SPREAD = 2.5

DENSE = dict(vocab_size=100, hidden_size=32, intermediate_size=56, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=128, tie_word_embeddings=False, pad_token_id=0, bos_token_id=1,
             eos_token_id=2)
MLA = dict(num_key_value_heads=4, kv_lora_rank=16, qk_nope_head_dim=8, qk_rope_head_dim=8, v_head_dim=12, n_shared_experts=1,
           n_routed_experts=4, moe_intermediate_size=20, num_experts_per_tok=2, first_k_dense_replace=1)
# Families that others prove in most respects: smaller, with shorter prompts.
SMALL = dict(vocab_size=48, hidden_size=24, intermediate_size=20)
SMALL_LENGTHS = (1, 5, 17)
TINY = dict(vocab_size=48, hidden_size=16, intermediate_size=12, head_dim=4)
MLA_TINY = dict(num_key_value_heads=4, q_lora_rank=8, kv_lora_rank=8, qk_nope_head_dim=4, qk_rope_head_dim=4, v_head_dim=6)
FEW = dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=8)
GPTJ = dict(vocab_size=48, n_embd=16, n_head=4, n_layer=2, n_positions=64, rotary_dim=2)
ALTERNATING = ["sliding_attention", "full_attention"]
EXPERTS = dict(num_experts_per_tok=2, num_local_experts=4)


def rope(**options):
    return dict(rope_type="default", rope_theta=10000.0) | options


# name: (architecture, dtype, what differs from DENSE)
CASES = {
    "tiny_llama_llama3": ("LlamaForCausalLM", "bfloat16", dict(
        rope_parameters=dict(rope_type="llama3", rope_theta=500000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                             original_max_position_embeddings=32))),
    "tiny_llama_linear": ("LlamaForCausalLM", "float32", dict(
        attention_bias=True, mlp_bias=True, rope_parameters=dict(rope_type="linear", rope_theta=10000.0, factor=2.5))),
    "tiny_llama_dynamic": ("LlamaForCausalLM", "float32", dict(
        max_position_embeddings=20, rope_parameters=dict(rope_type="dynamic", rope_theta=10000.0, factor=2.0))),
    "tiny_llama_yarn": ("LlamaForCausalLM", "float32", dict(
        rope_parameters=dict(rope_type="yarn", rope_theta=10000.0, factor=4.0, original_max_position_embeddings=32))),
    "tiny_mistral_window": ("MistralForCausalLM", "bfloat16", dict(head_dim=12, sliding_window=7)),
    "tiny_qwen2_tied": ("Qwen2ForCausalLM", "bfloat16", dict(tie_word_embeddings=True)),
    "tiny_qwen3_float16": ("Qwen3ForCausalLM", "float16", dict(head_dim=16)),
    "tiny_qwen3_vocab101": ("Qwen3ForCausalLM", "float32", dict(head_dim=8, vocab_size=101, intermediate_size=50)),
    "tiny_glm4": ("Glm4ForCausalLM", "bfloat16", dict(head_dim=8, attention_bias=True)),
    "tiny_gemma2": ("Gemma2ForCausalLM", "bfloat16", dict(
        head_dim=8, num_hidden_layers=2, tie_word_embeddings=True, sliding_window=8, query_pre_attn_scalar=12,
        attn_logit_softcapping=5.0, final_logit_softcapping=12.0)),
    "tiny_gemma3": ("Gemma3ForCausalLM", "float32", dict(
        head_dim=8, tie_word_embeddings=True, sliding_window=8, query_pre_attn_scalar=8,
        layer_types=["sliding_attention", "full_attention"])),
    "tiny_phi3": ("Phi3ForCausalLM", "bfloat16", {}),
    "tiny_olmo2": ("Olmo2ForCausalLM", "bfloat16", {}),
    "tiny_granite": ("GraniteForCausalLM", "float32", dict(
        attention_multiplier=0.2, embedding_multiplier=3.0, residual_multiplier=0.6, logits_scaling=4.0)),
    "tiny_cohere": ("CohereForCausalLM", "bfloat16", dict(tie_word_embeddings=True, logit_scale=0.25)),
    "tiny_starcoder2": ("Starcoder2ForCausalLM", "bfloat16", dict(sliding_window=None)),
    "tiny_smollm3": ("SmolLM3ForCausalLM", "bfloat16", dict(no_rope_layers=[1, 0])),
    "tiny_mixtral": ("MixtralForCausalLM", "float32", EXPERTS),
    "tiny_qwen3_moe": ("Qwen3MoeForCausalLM", "bfloat16", dict(
        head_dim=8, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=20, norm_topk_prob=True, decoder_sparse_step=2)),
    "tiny_gpt_oss": ("GptOssForCausalLM", "float32", dict(EXPERTS, head_dim=8, sliding_window=8, intermediate_size=24)),
    "tiny_deepseek_v2": ("DeepseekV2ForCausalLM", "float32", dict(MLA, q_lora_rank=None)),
    "tiny_deepseek_v3": ("DeepseekV3ForCausalLM", "float32", dict(MLA, q_lora_rank=16, n_group=2, topk_group=1)),
    "tiny_gemma": ("GemmaForCausalLM", "bfloat16", dict(head_dim=8, tie_word_embeddings=True)),
    "tiny_olmo": ("OlmoForCausalLM", "bfloat16", dict(attention_bias=True, clip_qkv=0.7)),
    "tiny_olmo3": ("Olmo3ForCausalLM", "float32", dict(sliding_window=8, layer_types=ALTERNATING)),
    "tiny_phi": ("PhiForCausalLM", "bfloat16", dict(qk_layernorm=True)),
    "tiny_gpt_neox": ("GPTNeoXForCausalLM", "bfloat16", dict(rope_parameters=rope(partial_rotary_factor=0.5))),
    "tiny_gpt_neox_sequential": ("GPTNeoXForCausalLM", "float32", dict(
        use_parallel_residual=False, hidden_act="gelu_new", rope_parameters=rope(rope_theta=500.0, partial_rotary_factor=1.0))),
    "tiny_exaone4": ("Exaone4ForCausalLM", "bfloat16", dict(
        sliding_window=8, sliding_window_pattern=2, layer_types=ALTERNATING)),
    "tiny_ernie4_5": ("Ernie4_5ForCausalLM", "bfloat16", dict(head_dim=8, use_bias=True, tie_word_embeddings=True)),
    "tiny_seed_oss": ("SeedOssForCausalLM", "bfloat16", dict(
        head_dim=8, attention_bias=True, attention_out_bias=True, mlp_bias=True)),
    "tiny_hunyuan": ("HunYuanDenseV1ForCausalLM", "bfloat16", dict(
        head_dim=8, rope_parameters=rope(rope_type="dynamic", alpha=50.0, factor=1.0))),
    "tiny_cohere2": ("Cohere2ForCausalLM", "bfloat16", dict(
        sliding_window=8, logit_scale=0.25, tie_word_embeddings=True, layer_types=ALTERNATING)),
    "tiny_qwen2_moe": ("Qwen2MoeForCausalLM", "bfloat16", dict(
        num_hidden_layers=3, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=20, shared_expert_intermediate_size=24,
        mlp_only_layers=[1], norm_topk_prob=True)),
    "tiny_granitemoe": ("GraniteMoeForCausalLM", "float32", dict(
        EXPERTS, intermediate_size=20, attention_multiplier=0.2, embedding_multiplier=3.0, residual_multiplier=0.6,
        logits_scaling=4.0)),
    "tiny_glm4_moe": ("Glm4MoeForCausalLM", "bfloat16", dict(
        head_dim=8, n_routed_experts=8, num_experts_per_tok=2, moe_intermediate_size=20, n_shared_experts=1, n_group=2,
        topk_group=1, first_k_dense_replace=1, routed_scaling_factor=1.5, use_qk_norm=True, attention_bias=True)),
    "tiny_arcee": ("ArceeForCausalLM", "bfloat16", dict(attention_bias=True, mlp_bias=True)),
    "tiny_cwm": ("CwmForCausalLM", "bfloat16", dict(head_dim=8, sliding_window=6, rope_parameters=rope(
        rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32))),
    "tiny_helium": ("HeliumForCausalLM", "bfloat16", dict(head_dim=8, attention_bias=True, mlp_bias=True)),
    "tiny_hyperclovax": ("HyperCLOVAXForCausalLM", "bfloat16", dict(
        embedding_multiplier=2.0, logits_scaling=0.5, residual_multiplier=0.6, attention_multiplier=0.3)),
    "tiny_jais2": ("Jais2ForCausalLM", "bfloat16", {}),
    "tiny_ministral": ("MinistralForCausalLM", "bfloat16", dict(head_dim=8, sliding_window=6, layer_types=ALTERNATING)),
    "tiny_vaultgemma": ("VaultGemmaForCausalLM", "bfloat16", dict(
        head_dim=8, sliding_window=6, tie_word_embeddings=True, query_pre_attn_scalar=12, attn_logit_softcapping=5.0,
        final_logit_softcapping=12.0)),
    "tiny_youtu": ("YoutuForCausalLM", "bfloat16", dict(
        num_key_value_heads=4, q_lora_rank=16, kv_lora_rank=16, qk_nope_head_dim=8, qk_rope_head_dim=8, v_head_dim=12)),
    "tiny_olmoe": ("OlmoeForCausalLM", "bfloat16", dict(
        num_experts=4, num_experts_per_tok=2, intermediate_size=20, clip_qkv=0.7, norm_topk_prob=True)),
    "tiny_flex_olmo": ("FlexOlmoForCausalLM", "bfloat16", dict(num_experts=4, num_experts_per_tok=2, intermediate_size=20)),
    "tiny_mellum": ("MellumForCausalLM", "bfloat16", dict(
        head_dim=8, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=20, sliding_window=6, layer_types=ALTERNATING,
        mlp_layer_types=["dense", "sparse"])),
    "tiny_dots1": ("Dots1ForCausalLM", "bfloat16", dict(
        head_dim=8, n_routed_experts=8, num_experts_per_tok=2, moe_intermediate_size=20, n_shared_experts=1, n_group=2,
        topk_group=1, first_k_dense_replace=1, norm_topk_prob=True, routed_scaling_factor=1.5, sliding_window=6,
        max_window_layers=1)),
    "tiny_glm4_moe_lite": ("Glm4MoeLiteForCausalLM", "bfloat16", dict(
        {k: v for k, v in MLA.items() if k != "first_k_dense_replace"}, q_lora_rank=16)),
    "tiny_exaone": ("LlamaForCausalLM", "bfloat16", dict(
        SMALL, config_class="ExaoneConfig", head_dim=8, attention_bias=True, mlp_bias=True)),
    "tiny_ministral3": ("Ministral3ForCausalLM", "bfloat16", dict(
        SMALL, head_dim=8, max_position_embeddings=64, rope_parameters=rope(
            rope_type="yarn", factor=4.0, original_max_position_embeddings=6, mscale=1.0, mscale_all_dim=1.0,
            llama_4_scaling_beta=0.4))),
    "tiny_nanochat": ("NanoChatForCausalLM", "bfloat16", dict(SMALL, attention_bias=True, final_logit_softcapping=6.0)),
    "tiny_ernie4_5_moe": ("Ernie4_5_MoeForCausalLM", "bfloat16", dict(
        SMALL, num_hidden_layers=3, use_bias=True, moe_num_experts=4, moe_k=2, moe_intermediate_size=12,
        moe_num_shared_experts=1, moe_layer_interval=2)),
    "tiny_hunyuan_moe": ("HunYuanMoEV1ForCausalLM", "bfloat16", dict(
        SMALL | dict(intermediate_size=12), head_dim=8, num_experts=4, moe_topk=2, attention_bias=True)),
    "tiny_exaone_moe": ("ExaoneMoeForCausalLM", "bfloat16", dict(
        SMALL, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=12, n_group=2, topk_group=1, sliding_window=4,
        layer_types=ALTERNATING)),
    "tiny_solar_open": ("SolarOpenForCausalLM", "bfloat16", dict(
        SMALL, head_dim=8, n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=12, attention_bias=True,
        topk_group=1, n_group=2)),
    "tiny_sarvam_mla": ("DeepseekV3ForCausalLM", "bfloat16", dict(
        MLA | SMALL | dict(moe_intermediate_size=12, kv_lora_rank=8), config_class="SarvamMLAConfig")),
    "tiny_hy_v3": ("HYV3ForCausalLM", "bfloat16", dict(
        SMALL, head_dim=8, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=12, router_scaling_factor=1.5)),
    "tiny_nemotron": ("NemotronForCausalLM", "bfloat16", dict(SMALL, attention_bias=True, mlp_bias=True, head_dim=4)),
    "tiny_gptj": ("GPTJForCausalLM", "bfloat16", dict(GPTJ)),
    "tiny_codegen": ("CodeGenForCausalLM", "bfloat16", dict(GPTJ, n_inner=20)),
    "tiny_apertus": ("ApertusForCausalLM", "bfloat16", dict(TINY, attention_bias=True)),
    "tiny_minicpm3": ("MiniCPM3ForCausalLM", "bfloat16", dict(
        TINY, num_key_value_heads=4, q_lora_rank=8, kv_lora_rank=8, qk_nope_head_dim=4, qk_rope_head_dim=4, v_head_dim=6,
        dim_model_base=12, tie_word_embeddings=True, attention_bias=True)),
    "tiny_granite_swa": ("GraniteSWAForCausalLM", "bfloat16", dict(
        TINY, attention_multiplier=0.3, embedding_multiplier=3.0, residual_multiplier=0.6, logits_scaling=4.0, sliding_window=4,
        layer_rope_theta=[0, 500.0])),
    "tiny_granitemoeshared": ("GraniteMoeSharedForCausalLM", "bfloat16", dict(
        TINY, **EXPERTS, shared_intermediate_size=10, attention_multiplier=0.3)),
    "tiny_granitemoe_swa": ("GraniteMoeSWAForCausalLM", "bfloat16", dict(
        TINY, **EXPERTS, shared_intermediate_size=10, attention_multiplier=0.3, sliding_window=4)),
    "tiny_flint": ("FlintForCausalLM", "bfloat16", dict(
        TINY, **FEW, shared_expert_intermediate_size=10, sliding_window=4, layer_types=ALTERNATING, mlp_only_layers=[1])),
    "tiny_kolibri1": ("Kolibri1ForCausalLM", "bfloat16", dict(
        TINY, **FEW, shared_expert_intermediate_size=10, sliding_window=4, layer_types=ALTERNATING, norm_topk_prob=True)),
    "tiny_afmoe": ("AfmoeForCausalLM", "bfloat16", dict(
        TINY, **FEW, num_shared_experts=1, sliding_window=4, layer_types=ALTERNATING, mup_enabled=True, route_scale=1.5)),
    "tiny_axk1": ("AXK1ForCausalLM", "bfloat16", dict(
        TINY | MLA_TINY, n_routed_experts=4, moe_intermediate_size=8, num_experts_per_tok=2, n_group=2, topk_group=1)),
    "tiny_cohere2_moe": ("Cohere2MoeForCausalLM", "bfloat16", dict(
        TINY, num_experts=4, num_shared_experts=1, sliding_window=4, layer_types=ALTERNATING, logit_scale=0.25,
        mlp_layer_types=["sparse", "dense"], tie_word_embeddings=True)),
    "tiny_cohere2_moe_sigmoid": ("Cohere2MoeForCausalLM", "bfloat16", dict(
        TINY, num_experts=4, num_shared_experts=1, sliding_window=4, layer_types=ALTERNATING, logit_scale=0.25,
        rms_norm_eps=1e-6, expert_selection_fn="sigmoid", shared_expert_combination_strategy="sum")),
    "tiny_phimoe": ("PhimoeForCausalLM", "bfloat16", dict(
        {k: v for k, v in TINY.items() if k != "head_dim"}, num_local_experts=4, attention_bias=True, lm_head_bias=True,
        router_jitter_noise=0.2, original_max_position_embeddings=20, rope_parameters=rope(
            rope_type="longrope", short_factor=[1.0, 1.5], long_factor=[2.0, 3.0], short_mscale=1.1, long_mscale=1.3,
            original_max_position_embeddings=20))),
    "tiny_llama4": ("Llama4ForCausalLM", "bfloat16", dict(
        TINY, intermediate_size=10, intermediate_size_mlp=14, num_local_experts=4, num_experts_per_tok=2, moe_layers=[0],
        no_rope_layers=[1, 0], attention_chunk_size=6, floor_scale=4, attn_scale=0.5)),
    "tiny_aria": ("AriaTextForCausalLM", "bfloat16", dict(
        TINY, intermediate_size=10, moe_num_experts=4, moe_topk=2, moe_num_shared_experts=1, attention_bias=True)),
    "tiny_youtu_tied": ("YoutuForCausalLM", "bfloat16", dict(
        TINY | MLA_TINY, tie_word_embeddings=True, pad_token_id=5)),
    "tiny_deepseek_v32": ("DeepseekV32ForCausalLM", "bfloat16", dict(
        TINY | MLA_TINY, n_routed_experts=4, moe_intermediate_size=8, num_experts_per_tok=2, n_group=2, topk_group=1,
        first_k_dense_replace=1, attention_bias=True, index_topk=48, index_head_dim=8, index_n_heads=2)),
    "tiny_glm_moe_dsa": ("GlmMoeDsaForCausalLM", "bfloat16", dict(
        TINY | MLA_TINY, n_routed_experts=4, moe_intermediate_size=8, num_experts_per_tok=2, first_k_dense_replace=1,
        index_topk=48, index_head_dim=8, index_n_heads=2, indexer_types=["full", "shared"])),
    "tiny_sarvam_moe": ("Glm4MoeForCausalLM", "bfloat16", dict(
        TINY, config_class="SarvamMoEConfig", n_routed_experts=4, moe_intermediate_size=8, num_experts_per_tok=2,
        first_k_dense_replace=1)),
    "tiny_minimax_m2": ("MiniMaxM2ForCausalLM", "bfloat16", dict(
        SMALL | EXPERTS | dict(intermediate_size=12), head_dim=8, rope_parameters=rope(partial_rotary_factor=0.5))),
}


def random_for(*names):
    return torch.Generator().manual_seed(zlib.crc32("/".join(map(str, names)).encode()))


def random_ids(case, name, count, vocab):
    return torch.randint(3, vocab, (count,), generator=random_for(case, name))


def fill(case, model):
    """Random weights by name; the head (or, when it is tied, the last norm) is scaled to a useful spread of the logits."""
    head, embedding = model.get_output_embeddings().weight, model.get_input_embeddings().weight
    tied = head is embedding
    for name, parameter in model.named_parameters():
        noise = torch.randn(parameter.shape, generator=random_for(case, name))
        if parameter is embedding:
            parameter.copy_(noise * (0.3 if tied else 1.0))
        elif parameter.ndim == 1 and "norm" in name:
            parameter.copy_((parameter != 0).float() + 0.25 * noise.clamp(-2, 2))
        elif parameter.ndim == 1:
            parameter.copy_(0.3 * noise)
        else:
            parameter.copy_(noise * (1.3 / parameter.shape[-1] ** 0.5))
    for name, buffer in [*model.named_buffers(), *model.named_parameters()]:
        if name.endswith("correction_bias"):
            buffer.copy_(0.1 * torch.randn(buffer.shape, generator=random_for(case, name)))
    ids = random_ids(case, "spread", 40, model.config.vocab_size)[None]
    final_norm = "ln_f" if hasattr(model.base_model, "ln_f") else "norm"
    scaled = getattr(model.base_model, final_norm).weight if tied else head
    for _ in range(3):
        scaled.mul_(LOGIT_SPREAD / model(ids, use_cache=False).logits.std())


def lengths_of(vocab):
    return SMALL_LENGTHS if vocab == SMALL["vocab_size"] else LENGTHS


def forget(model):
    """Dynamic rotary scaling keeps the longest length it has seen until a sequence shorter than the original comes."""
    model(torch.zeros(1, 1, dtype=torch.long), use_cache=False)


def greedy(model, ids, mask):
    forget(model)
    out = model.generate(ids, attention_mask=mask, do_sample=False, max_new_tokens=NEW_TOKENS, pad_token_id=0, output_logits=True,
                         return_dict_in_generate=True)
    top = torch.stack(out.logits, 1).float().topk(2, -1).values
    return out.sequences[:, ids.shape[1]:], top[..., 0] - top[..., 1]


def load(path, dtype):
    model = transformers.AutoModelForCausalLM.from_pretrained(path, dtype=dtype, attn_implementation="eager").eval()
    if hasattr(model, "set_experts_implementation"):
        model.set_experts_implementation("eager")
    model.generation_config.eos_token_id = model.config.eos_token_id = None
    return model


def results(case, path):
    model, rounded = load(path, torch.float32), load(path, torch.bfloat16)
    vocab, tensors = model.config.vocab_size, {}
    for i, length in enumerate(lengths_of(vocab)):
        ids = random_ids(case, f"prompt.{i}", length, vocab)
        generated, margin = greedy(model, ids[None], torch.ones(1, length, dtype=torch.long))
        forget(model)
        forget(rounded)
        tensors |= {f"prompt.{i}.input_ids": ids, f"prompt.{i}.logits": model(ids[None], use_cache=False).logits[0].float(),
                    f"prompt.{i}.logits_bf16_last": rounded(ids[None], use_cache=False).logits[0, -1].float(),
                    f"prompt.{i}.generated": generated[0], f"prompt.{i}.margin": margin[0]}
    width = max(BATCH_LENGTHS)
    rows, mask = torch.zeros(len(BATCH_LENGTHS), width, dtype=torch.long), torch.zeros(len(BATCH_LENGTHS), width, dtype=torch.long)
    generated, margin = [], []
    for i, length in enumerate(BATCH_LENGTHS):
        ids = random_ids(case, f"batch.{i}", length, vocab)
        rows[i, width - length:], mask[i, width - length:] = ids, 1
        one, step_margin = greedy(model, ids[None], torch.ones(1, length, dtype=torch.long))
        generated.append(one[0])
        margin.append(step_margin[0])
    return tensors | {"batch.input_ids": rows, "batch.attention_mask": mask, "batch.generated": torch.stack(generated),
                      "batch.margin": torch.stack(margin)}


@torch.no_grad()
def make(case, out):
    architecture, dtype, differing = CASES[case]
    path = os.path.join(out, case)
    shutil.rmtree(path, ignore_errors=True)
    cls = getattr(transformers, architecture)
    options = DENSE | differing
    config_class = options.pop("config_class", None)
    config = (getattr(transformers, config_class) if config_class else cls.config_class)(**options)
    config._attn_implementation = "eager"
    config._experts_implementation = "eager"
    model = cls(config).float().eval()
    fill(case, model)
    model.to(getattr(torch, dtype)).save_pretrained(path)
    tensors = results(case, path)
    save_file({name: value.contiguous() for name, value in tensors.items()}, os.path.join(path, "golden.safetensors"))
    margins = torch.cat([tensors[f"prompt.{i}.margin"] for i in range(len(lengths_of(config.vocab_size)))])
    size = sum(os.path.getsize(os.path.join(path, name)) for name in os.listdir(path))
    print(f"{case}: {size / 1e3:.0f} kB, smallest margin {margins.min():.4f}", flush=True)


if __name__ == "__main__":
    for chosen in sys.argv[2:] or CASES:
        make(chosen, sys.argv[1])
