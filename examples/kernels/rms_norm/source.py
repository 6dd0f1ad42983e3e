"""RMSNorm over rows: a Pallas kernel for TPU and the same in plain JAX for CPU plugins. Rounds as tprun's own: all of it in
float32, the weight too, and once at the end."""
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

name = "rms_norm"
version = "1"
license = "Apache-2.0"
replaces = "norm"
min_libtpu = "0.0.42"


def normalized(x, weight, eps):
    x = x.astype(jnp.float32)
    scale = jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + eps)
    return x * scale * weight.astype(jnp.float32)


def cpu(match):
    return lambda x, weight: normalized(x, weight, match["eps"]).astype(x.dtype)


def tpu(match):
    # As many rows at a time as leave the fast memory free for the next ones.
    rows = min(match["tokens"], 64)

    def kernel(x, weight, out):
        out[...] = normalized(x[...], weight[...], match["eps"]).astype(out.dtype)

    def call(x, weight):
        block = pl.BlockSpec((rows, match["size"]), lambda i: (i, 0))
        return pl.pallas_call(
            kernel,
            grid=(match["tokens"] // rows,),
            in_specs=[block, pl.BlockSpec((1, match["size"]), lambda i: (0, 0))],
            out_specs=block,
            out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        )(x, weight.reshape(1, -1))

    return call


def rms(tokens, size, dtype, eps):
    return {"kind": "rms", "tokens": tokens, "size": size, "dtype": dtype, "eps": eps}


# A decode step and a prefill of 128 of Llama-3.1-8B; the small model of the tests (hidden 32, heads of 8; 1 and 16 positions of 4,
# 2 or 1 heads on a chip).
variants = [("tpu", rms(tokens, 4096, "bfloat16", 1e-05)) for tokens in (1, 128)]
variants += [("cpu", rms(tokens, 32, "float32", 1e-06)) for tokens in (1, 16)]
variants += [("cpu", rms(tokens, 8, "float32", 1e-06)) for tokens in (1, 2, 4, 16, 32, 64)]
