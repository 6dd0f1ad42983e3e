"""Attention of one new position per row over its cache: a Pallas kernel for TPU and the same in plain JAX for CPU plugins.

q [rows, heads, head_dim]; k and v cache [rows, kv_heads, cache_len, head_dim] with the new position in it; length int32 [rows]:
positions that the row may see. Query head h reads KV head h / (heads / kv_heads). Scores, softmax and the mix are float32."""
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

name = "decode_attention"
version = "1"
license = "Apache-2.0"
replaces = "decode_attention"
min_libtpu = "0.0.42"


def attend(q, k, v, length, scale):
    """q [group, head_dim], k and v [cache_len, head_dim], a number of visible positions -> float32 [group, head_dim]"""
    scores = jax.lax.dot_general(q, k, (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32) * scale
    visible = jax.lax.broadcasted_iota(jnp.int32, scores.shape, 1) < length
    scores = jnp.where(visible, scores, -jnp.inf)
    weights = jnp.exp(scores - jnp.max(scores, axis=-1, keepdims=True))
    weights = weights / jnp.sum(weights, axis=-1, keepdims=True)
    return jax.lax.dot_general(weights, v.astype(jnp.float32), (((1,), (0,)), ((), ())), preferred_element_type=jnp.float32)


def cpu(match):
    group = match["heads"] // match["kv_heads"]

    def call(q, k, v, length):
        grouped = q.reshape(match["rows"], match["kv_heads"], group, match["head_dim"])
        by_head = jax.vmap(attend, in_axes=(0, 0, 0, None, None))
        out = jax.vmap(by_head, in_axes=(0, 0, 0, 0, None))(grouped, k, v, length, match["scale"])
        return out.reshape(q.shape).astype(q.dtype)

    return call


def tpu(match):
    rows, kv_heads, cache_len, head_dim = (match[key] for key in ("rows", "kv_heads", "cache_len", "head_dim"))
    group = match["heads"] // kv_heads

    def kernel(length, q, k, v, out):
        row = pl.program_id(0)
        out[0, 0] = attend(q[0, 0], k[0, 0], v[0, 0], length[row], match["scale"]).astype(out.dtype)

    def call(q, k, v, length):
        queries = pl.BlockSpec((1, 1, group, head_dim), lambda row, head, length: (row, head, 0, 0))
        cache = pl.BlockSpec((1, 1, cache_len, head_dim), lambda row, head, length: (row, head, 0, 0))
        grid = pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1, grid=(rows, kv_heads), in_specs=[queries, cache, cache], out_specs=queries
        )
        grouped = q.reshape(rows, kv_heads, group, head_dim)
        out = pl.pallas_call(kernel, grid_spec=grid, out_shape=jax.ShapeDtypeStruct(grouped.shape, q.dtype))(length, grouped, k, v)
        return out.reshape(q.shape)

    return call


def step(heads, kv_heads, head_dim, cache_len, dtype):
    return {
        "rows": 1,
        "heads": heads,
        "kv_heads": kv_heads,
        "head_dim": head_dim,
        "cache_len": cache_len,
        "dtype": dtype,
        "scale": head_dim**-0.5,
    }


# A decode step of Llama-3.1-8B on four chips; the small model of the tests on 1, 2 and 4.
variants = [("tpu", step(8, 2, 128, 2048, "bfloat16"))]
variants += [("cpu", step(heads, kv_heads, 8, 32, "float32")) for heads, kv_heads in ((4, 2), (2, 1), (1, 1))]
