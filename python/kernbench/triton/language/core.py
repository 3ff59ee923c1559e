"""`triton.language.core`: names that some files import from here."""

from . import *  # noqa: F401,F403
from . import constexpr, dtype, tensor  # noqa: F401
from .._types import int_type as get_int_dtype  # noqa: F401
from ._functions import without_bfloat16
from ._reductions import widened


CONSTEXPR_0 = 0


def builtin(fn):
    return fn


def _constexpr_to_value(x):
    return x


_unwrap_if_constexpr = _constexpr_to_value
_promote_bfloat16_to_float32 = without_bfloat16


def _promote_reduction_input(x):
    """What Triton 2 reduced small types in."""
    return widened(x) if x.dtype.is_int() else without_bfloat16(x)
