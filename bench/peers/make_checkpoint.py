"""A checkpoint of random bfloat16 weights with the shape of Qwen3-0.6B and a head of its own (751.6 M parameters, 1.5 GB).

make_checkpoint.py DIR [--layers N]     needs torch, transformers and tokenizers
The tokenizer has one token per id and no merges, for peers that want one.
"""
import argparse
import pathlib

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

VOCAB, BOS, EOS = 151936, 151643, 151645


def make_model(layers):
    config = Qwen3Config(hidden_size=1024, num_hidden_layers=layers, num_attention_heads=16, num_key_value_heads=8, head_dim=128,
                         intermediate_size=3072, vocab_size=VOCAB, max_position_embeddings=40960, rms_norm_eps=1e-6,
                         tie_word_embeddings=False, bos_token_id=BOS, eos_token_id=EOS, dtype=torch.bfloat16,
                         rope_parameters={"rope_type": "default", "rope_theta": 1e6})
    with torch.device("meta"):
        model = Qwen3ForCausalLM(config)
    model = model.to(torch.bfloat16).to_empty(device="cpu")
    random = torch.Generator().manual_seed(1234)
    with torch.no_grad():
        for name, weight in sorted(model.named_parameters()):
            values = torch.randn(weight.shape, generator=random)
            weight.copy_(1 + 0.05 * values if name.endswith("norm.weight") else 0.02 * values)
    return model


def make_tokenizer():
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    special = {BOS: "<|bos|>", EOS: "<|eos|>"}
    names = [letters[i] if i < len(letters) else special.get(i, f"<t{i}>") for i in range(VOCAB)]
    tokenizer = Tokenizer(models.BPE(vocab={name: i for i, name in enumerate(names)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<|bos|>", eos_token="<|eos|>", unk_token="<|eos|>")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("--layers", type=int, default=28)
    arguments = parser.parse_args()
    make_model(arguments.layers).save_pretrained(arguments.dir, max_shard_size="5GB")
    make_tokenizer().save_pretrained(arguments.dir)
