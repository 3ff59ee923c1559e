"""`tl.math`: the same functions under another name, and those of libdevice."""

from . import (abs, ceil, cos, div_rn, erf, exp, exp2, fdiv, floor, fma, log, log2, maximum, minimum, rsqrt, sigmoid, sin,  # noqa: F401
               sqrt, sqrt_rn, tanh, umulhi)
from .._errors import missing
from .extra import libdevice as _libdevice
from .extra.libdevice import *  # noqa: F401,F403

max, min = maximum, minimum


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        return getattr(_libdevice, name)
    except AttributeError:
        raise missing("triton.language.math", name, [*globals(), *vars(_libdevice)]) from None
