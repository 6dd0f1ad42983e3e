import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from torch_tpu._internal.pallas import jax_op


@jax_op("rms_norm_tpu::rms_norm")
def rms_norm(x, weight, epsilon):
    def kernel(x_ref, weight_ref, out_ref):
        rows = x_ref[...].astype(jnp.float32)
        scale = jax.lax.rsqrt(jnp.mean(rows * rows, axis=-1, keepdims=True) + epsilon)
        out_ref[...] = (rows * scale * weight_ref[...].astype(jnp.float32)).astype(out_ref.dtype)

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x, weight.reshape(1, -1))
