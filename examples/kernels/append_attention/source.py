"""Attention of one new position per row that puts the position's key and value into the cache itself, in place.

q [rows, heads, head_dim]; k and v [rows, kv_heads, head_dim] of the new position; k and v cache [rows, kv_heads, cache_len, head_dim];
start int32 [rows]: where the position goes; length int32 [rows]: 1, or 0 for a row that is not in flight, whose cache stays as it is.
Gives the attention and both caches. Query head h reads KV head h / (heads / kv_heads). Scores, softmax and the mix are float32."""
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

name = "append_attention"
version = "1"
license = "Apache-2.0"
replaces = "append_attention"
min_libtpu = "0.0.42"

WINDOW = 16  # positions of the cache that are written back around the new one: a tile of bfloat16


def attend(q, k, v, last, scale):
    """q [group, head_dim], k and v [cache_len, head_dim], the last visible position -> float32 [group, head_dim]"""
    scores = jax.lax.dot_general(q, k, (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32) * scale
    visible = jax.lax.broadcasted_iota(jnp.int32, scores.shape, 1) <= last
    scores = jnp.where(visible, scores, -jnp.inf)
    weights = jnp.exp(scores - jnp.max(scores, axis=-1, keepdims=True))
    weights = weights / jnp.sum(weights, axis=-1, keepdims=True)
    return jax.lax.dot_general(weights, v.astype(jnp.float32), (((1,), (0,)), ((), ())), preferred_element_type=jnp.float32)


def with_new(lines, new, position):
    """lines [n, head_dim] with new [1, head_dim] at a position; one beyond them changes nothing."""
    here = jax.lax.broadcasted_iota(jnp.int32, lines.shape, 0) == position
    return jnp.where(here, jnp.broadcast_to(new, lines.shape), lines)


def cpu(match):
    group = match["heads"] // match["kv_heads"]

    def head(q, k, v, k_cache, v_cache, start, length):
        position = jnp.where(length > 0, start, match["cache_len"])
        k_cache, v_cache = with_new(k_cache, k[None], position), with_new(v_cache, v[None], position)
        return attend(q, k_cache, v_cache, start, match["scale"]).astype(q.dtype), k_cache, v_cache

    def call(q, k, v, k_cache, v_cache, start, length):
        grouped = q.reshape(match["rows"], match["kv_heads"], group, match["head_dim"])
        by_head = jax.vmap(head, in_axes=(0, 0, 0, 0, 0, None, None))
        out, k_cache, v_cache = jax.vmap(by_head)(grouped, k, v, k_cache, v_cache, start, length)
        return out.reshape(q.shape), k_cache, v_cache

    return call


def tpu(match):
    rows, kv_heads, cache_len, head_dim = (match[key] for key in ("rows", "kv_heads", "cache_len", "head_dim"))
    group = match["heads"] // kv_heads

    def kernel(start, length, q, k, v, k_cache, v_cache, out, k_window, v_window):
        at = start[pl.program_id(0)]
        first = pl.multiple_of(jax.lax.div(at, WINDOW) * WINDOW, WINDOW)
        position = jnp.where(length[pl.program_id(0)] > 0, at, cache_len)
        for cache, new, window in ((k_cache, k, k_window), (v_cache, v, v_window)):
            window[0, 0] = with_new(cache[0, 0, pl.ds(first, WINDOW), :], new[0, 0], position - first)
        keys, values = with_new(k_cache[0, 0], k[0, 0], position), with_new(v_cache[0, 0], v[0, 0], position)
        out[0, 0] = attend(q[0, 0], keys, values, at, match["scale"]).astype(out.dtype)

    def call(q, k, v, k_cache, v_cache, start, length):
        def block(lines, place=lambda start, row: 0):
            return pl.BlockSpec((1, 1, lines, head_dim), lambda row, head, start, length: (row, head, place(start, row), 0))

        window = block(WINDOW, lambda start, row: jax.lax.div(start[row], WINDOW))
        grid = pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=2,
            grid=(rows, kv_heads),
            in_specs=[block(group), block(1), block(1), block(cache_len), block(cache_len)],
            out_specs=[block(group), window, window],
        )
        grouped = q.reshape(rows, kv_heads, group, head_dim)
        shapes = [jax.ShapeDtypeStruct(value.shape, value.dtype) for value in (grouped, k_cache, v_cache)]
        new = [value.reshape(rows, kv_heads, 1, head_dim) for value in (k, v)]
        call = pl.pallas_call(kernel, grid_spec=grid, out_shape=shapes, input_output_aliases={5: 1, 6: 2})
        out, k_cache, v_cache = call(start, length, grouped, *new, k_cache, v_cache)
        return out.reshape(q.shape), k_cache, v_cache

    return call


def shape(rows, heads, kv_heads, head_dim, cache_len, dtype):
    return {
        "rows": rows,
        "heads": heads,
        "kv_heads": kv_heads,
        "head_dim": head_dim,
        "cache_len": cache_len,
        "dtype": dtype,
        "scale": head_dim**-0.5,
    }


# A decode step of Llama-3.1-8B on four chips; the small model of the tests on 1, 2 and 4.
variants = [("tpu", shape(1, 8, 2, 128, 2048, "bfloat16"))]
variants += [("cpu", shape(1, heads, max(heads // 2, 1), 8, 32, "float32")) for heads in (4, 2, 1)]
