"""The checkpoint of make_checkpoint.py as a GGUF file, for llama.cpp and OpenVINO GenAI.

make_gguf.py DIR FILE.gguf bf16|f16|q8_0|q4_0     needs torch, safetensors and gguf
Matrices get that type and norms float32. The tokens are made up: one for each id, the first 256 for bytes, no merges.
"""
import json
import pathlib
import sys

import gguf
from safetensors import safe_open

TOP = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
LAYER = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
         "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
         "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
         "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}


def gguf_name(name):
    stem = name.removesuffix(".weight")
    if stem in TOP:
        return TOP[stem] + ".weight"
    _, _, layer, module = stem.split(".", 3)
    return f"blk.{layer}.{LAYER[module]}.weight"


def add_config(writer, config):
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_vocab_size(config["vocab_size"])


def byte_letters():
    """GPT-2's letter of each byte: printable ones stand for themselves, the others follow from 256 on."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = {byte: chr(byte) for byte in printable} | {byte: chr(256 + i) for i, byte in enumerate(others)}
    return [letters[byte] for byte in range(256)]


def add_tokens(writer, vocab):
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(byte_letters() + [f"token{i}" for i in range(vocab - 258)] + ["<|bos|>", "<|eos|>"])
    writer.add_token_types([1] * (vocab - 2) + [3, 3])
    writer.add_token_merges(["t o"])
    writer.add_bos_token_id(vocab - 2)
    writer.add_eos_token_id(vocab - 1)
    writer.add_add_bos_token(False)
    writer.add_chat_template("{{ messages[0].content }}")


def main(source, target, kind):
    config = json.loads((pathlib.Path(source) / "config.json").read_text())
    quantization = gguf.GGMLQuantizationType[kind.upper()]
    writer = gguf.GGUFWriter(target, "qwen3")
    writer.add_name("random weights")
    writer.add_file_type(gguf.LlamaFileType["MOSTLY_" + kind.upper()])
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    add_config(writer, config)
    add_tokens(writer, config["vocab_size"])
    with safe_open(pathlib.Path(source) / "model.safetensors", "pt") as tensors:
        for name in tensors.keys():
            values = tensors.get_tensor(name).float().numpy()
            if values.ndim == 1:
                writer.add_tensor(gguf_name(name), values)
            else:
                writer.add_tensor(gguf_name(name), gguf.quants.quantize(values, quantization), raw_dtype=quantization)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
