"""RMSNorm for TPU as a kernel of the Hugging Face Hub: a Pallas function that torch_tpu is told of."""
from . import layers
from ._ops import rms_norm

__all__ = ["layers", "rms_norm"]
