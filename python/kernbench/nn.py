"""Operations on tensors: what models are made of.

    x = torch.from_numpy(activations, dp=kb.DPPolicy())                                   # a copy on every PE
    w = torch.from_numpy(weights, dp=nn.spread(torch, "column_wise", 4096))               # columns over the SIP
    y = nn.silu(x @ w)                                                                    # columns, as w
    z = y.redistribute(kb.DPPolicy())                                                     # a copy on every PE again

Each is a launch on the SIP of its tensors and returns a new tensor at once. `operations()` says which layouts each takes; anything
else is an InputError that lists them. The same under torch's names: `torch.matmul`, `torch.nn.functional.softmax` …
"""
import sys

from . import _core
from ._core import nn_add as add
from ._core import nn_attention as attention
from ._core import nn_attention_keys as attention_keys
from ._core import nn_attention_queries as attention_queries
from ._core import nn_embedding as embedding
from ._core import nn_gelu as gelu
from ._core import nn_layer_norm as layer_norm
from ._core import nn_matmul as matmul
from ._core import nn_mul as mul
from ._core import nn_operations as operations
from ._core import nn_redistribute as redistribute
from ._core import nn_relu as relu
from ._core import nn_rms_norm as rms_norm
from ._core import nn_rope as rope
from ._core import nn_rope_tables as rope_tables
from ._core import nn_silu as silu
from ._core import nn_spread as spread

__all__ = ["add", "attention", "attention_keys", "attention_queries", "embedding", "functional", "gelu", "layer_norm", "matmul", "mul",
           "operations", "redistribute", "relu", "rms_norm", "rope", "rope_tables", "scaled_dot_product_attention", "silu", "softmax",
           "spread"]


def softmax(x, dim=-1, *, out_dtype=None, name=""):
    """Over the last axis; every PE has whole rows."""
    if dim not in (-1, len(x.shape) - 1):
        raise ValueError(f"softmax over axis {dim} of {len(x.shape)}: the last axis is the one that lies whole on a PE")
    return _core.nn_softmax(x, out_dtype=out_dtype, name=name)


def scaled_dot_product_attention(query, key, value, is_causal=False, scale=None):
    """`attention` under torch's name."""
    return attention(query, key, value, causal=is_causal, scale=scale)


functional = sys.modules[__name__]  #: `torch.nn.functional`: the same functions
