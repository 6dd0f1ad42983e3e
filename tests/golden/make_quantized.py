"""Makes the small quantized checkpoints of tests/golden/quantized and the logits of their dequantized weights (see README.md).

usage: make_quantized.py OUT

Each method's integers are made and packed here by its documented formula; compressed-tensors packs its own. The reference is
transformers in float32 with the weights that the integers stand for.
"""
import json
import os
import sys

import torch
import transformers
from compressed_tensors.compressors.pack_quantized.helpers import pack_to_int32
from safetensors.torch import save_file

IDS = [1, 17, 5, 42, 8, 30, 11, 3, 60, 22, 9]
CONFIG = dict(vocab_size=64, hidden_size=64, intermediate_size=128, num_hidden_layers=1, num_attention_heads=4,
              num_key_value_heads=4, head_dim=32, max_position_embeddings=64, tie_word_embeddings=False, bos_token_id=1,
              eos_token_id=2, pad_token_id=0)
AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]


def grouped(weight, group):
    return weight.reshape(weight.shape[0], -1, group)


def nibbles(columns):
    """int32 [.., n/8] of integers 0 to 15 [.., n], the lowest first."""
    columns = columns.to(torch.int64).reshape(*columns.shape[:-1], -1, 8)
    word = sum(columns[..., i] << (4 * i) for i in range(8))
    return torch.where(word >= 2**31, word - 2**32, word).to(torch.int32)


def integers(weight, group, bits, symmetric, dtype):
    """q, scale [out, groups] in dtype and zero [out, groups]; w = (q - zero) * scale, q signed."""
    low, high = -2 ** (bits - 1), 2 ** (bits - 1) - 1
    parts = grouped(weight, group)
    if symmetric:
        scale = (parts.abs().amax(-1) / high).to(dtype).float()
        zero = torch.zeros_like(scale)
    else:
        least, most = parts.amin(-1).clamp(max=0), parts.amax(-1).clamp(min=0)
        scale = ((most - least) / (high - low)).to(dtype).float()
        zero = (low - least / scale).round().clamp(low, high)
    q = (parts / scale[..., None] + zero[..., None]).round().clamp(low, high)
    return q.reshape(weight.shape), scale.to(dtype), zero, ((q - zero[..., None]) * scale[..., None]).reshape(weight.shape)


def compressed_int8(weight, symmetric=True, packed=False, dtype=torch.bfloat16):
    q, scale, zero, number = integers(weight, weight.shape[1], 8, symmetric, dtype)
    parts = {"weight_scale": scale}
    parts |= {"weight_packed": pack_to_int32(q.to(torch.int8), 8)} if packed else {"weight": q.to(torch.int8)}
    if packed:
        parts["weight_shape"] = torch.tensor(weight.shape)
    if not symmetric:
        parts["weight_zero_point"] = zero.to(torch.int8)
    return parts, number


def compressed_int4(weight, group, symmetric=True):
    q, scale, zero, number = integers(weight, group, 4, symmetric, torch.bfloat16)
    parts = {"weight_packed": pack_to_int32(q.to(torch.int8), 4), "weight_scale": scale,
             "weight_shape": torch.tensor(weight.shape)}
    if not symmetric:
        parts["weight_zero_point"] = pack_to_int32(zero.to(torch.int8), 4, packed_dim=0).contiguous()
    return parts, number


def float8(weight, rows, columns, name, dtype):
    out, inputs = weight.shape
    parts = weight.reshape(out // rows, rows, inputs // columns, columns)
    scale = (parts.abs().amax((1, 3)) / 448).to(dtype).float()
    q = (parts / scale[:, None, :, None]).reshape(out, inputs).to(torch.float8_e4m3fn)
    number = q.float().reshape(parts.shape) * scale[:, None, :, None]
    return {"weight": q, name: scale.to(dtype)}, number.reshape(out, inputs)


def float8_tensor(weight):
    parts, number = float8(weight, *weight.shape, "weight_scale", torch.bfloat16)
    return parts | {"weight_scale": parts["weight_scale"].reshape(1)}, number


def gptq(weight, group, symmetric, first_format):
    q, scale, zero, number = integers(weight, group, 4, symmetric, torch.float16)
    zero = (zero + 8).T  # [groups, out]
    if first_format:
        zero = (zero - 1) % 16
    return {"qweight": nibbles((q + 8)).T.contiguous(), "scales": scale.T.contiguous(), "qzeros": nibbles(zero),
            "g_idx": torch.arange(weight.shape[1], dtype=torch.int32) // group}, number


def awq(weight, group):
    q, scale, zero, number = integers(weight, group, 4, False, torch.float16)
    order = lambda matrix: nibbles(matrix.reshape(matrix.shape[0], -1, 8)[:, :, AWQ_ORDER].reshape(matrix.shape))
    return {"qweight": order((q + 8).T), "scales": scale.T.contiguous(), "qzeros": order((zero + 8).T)}, number


def compressed(layout, **weights):
    return dict(quant_method="compressed-tensors", format=layout, quantization_status="compressed", ignore=["lm_head"],
                config_groups=dict(group_0=dict(targets=["Linear"], weights=weights, input_activations=None)))


CASES = {
    "compressed_int8": (compressed_int8, compressed("int-quantized", num_bits=8, type="int", symmetric=True, strategy="channel")),
    "compressed_int8_zeros": (lambda w: compressed_int8(w, False),
                              compressed("int-quantized", num_bits=8, type="int", symmetric=False, strategy="channel")),
    "compressed_packed_int8": (lambda w: compressed_int8(w, packed=True, dtype=torch.float32), compressed(
        "pack-quantized", num_bits=8, type="int", symmetric=True, strategy="channel")),
    "compressed_int4": (lambda w: compressed_int4(w, 32), compressed(
        "pack-quantized", num_bits=4, type="int", symmetric=True, strategy="group", group_size=32)),
    "compressed_int4_zeros": (lambda w: compressed_int4(w, 64, False), compressed(
        "pack-quantized", num_bits=4, type="int", symmetric=False, strategy="group", group_size=64)),
    "compressed_fp8": (lambda w: float8(w, 1, w.shape[1], "weight_scale", torch.bfloat16), compressed(
        "float-quantized", num_bits=8, type="float", symmetric=True, strategy="channel")),
    "compressed_fp8_tensor": (float8_tensor, compressed(
        "float-quantized", num_bits=8, type="float", symmetric=True, strategy="tensor")),
    "fp8_blocks": (lambda w: float8(w, 32, 64, "weight_scale_inv", torch.float32), dict(
        quant_method="fp8", fmt="e4m3", activation_scheme="dynamic", weight_block_size=[32, 64])),
    "gptq": (lambda w: gptq(w, 32, True, True), dict(
        quant_method="gptq", bits=4, group_size=32, desc_act=False, sym=True, checkpoint_format="gptq")),
    "gptq_zeros": (lambda w: gptq(w, 64, False, True), dict(
        quant_method="gptq", bits=4, group_size=64, desc_act=False, sym=False)),
    "gptq_v2": (lambda w: gptq(w, 32, False, False), dict(
        quant_method="gptq", bits=4, group_size=32, desc_act=False, sym=False, checkpoint_format="gptq_v2")),
    "awq": (lambda w: awq(w, 32), dict(quant_method="awq", bits=4, group_size=32, zero_point=True, version="gemm")),
}


def make(out, name, seed):
    quantize, description = CASES[name]
    torch.manual_seed(seed)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**CONFIG)).eval()
    tensors = {}
    for key, value in model.state_dict().items():
        value = value * 6 if value.ndim == 2 else value
        if value.ndim == 2 and "proj" in key:
            parts, number = quantize(value + 0.02)
            tensors |= {key.removesuffix("weight") + part: tensor for part, tensor in parts.items()}
        else:
            tensors[key] = value.to(torch.bfloat16)
            number = tensors[key].float()
        model.state_dict()[key].copy_(number)
    with torch.no_grad():
        logits = model(torch.tensor([IDS])).logits[0]
    os.makedirs(f"{out}/{name}", exist_ok=True)
    save_file({key: tensor.contiguous() for key, tensor in tensors.items()}, f"{out}/{name}/model.safetensors", {"format": "pt"})
    config = model.config.to_dict() | dict(quantization_config=description, torch_dtype="bfloat16",
                                           architectures=["LlamaForCausalLM"])
    for key in ("dtype", "transformers_version", "_name_or_path"):
        config.pop(key, None)
    with open(f"{out}/{name}/config.json", "w") as file:
        json.dump(config, file, indent=1, sort_keys=True)
    with open(f"{out}/{name}/golden.json", "w") as file:
        json.dump({"made_with": f"transformers {transformers.__version__}, float32", "ids": IDS,
                   "logits": [[float(f"{x:.6g}") for x in row] for row in logits.tolist()]}, file)


if __name__ == "__main__":
    for number, case in enumerate(CASES):
        make(sys.argv[1], case, number)
