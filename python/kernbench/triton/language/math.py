"""`tl.math`: the same functions under another name."""

from . import (abs, ceil, cos, div_rn, erf, exp, exp2, fdiv, floor, fma, log, log2, maximum, minimum, rsqrt, sigmoid, sin, sqrt,
               sqrt_rn, tanh, umulhi)
from .extra.libdevice import *  # noqa: F401,F403

max, min = maximum, minimum
