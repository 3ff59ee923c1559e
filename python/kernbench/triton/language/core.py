"""`triton.language.core`: names that some files import from here."""

from . import *  # noqa: F401,F403
from . import constexpr, dtype, tensor  # noqa: F401
from .._types import int_type as get_int_dtype  # noqa: F401


CONSTEXPR_0 = 0


def builtin(fn):
    return fn


def _constexpr_to_value(x):
    return x


_unwrap_if_constexpr = _constexpr_to_value
