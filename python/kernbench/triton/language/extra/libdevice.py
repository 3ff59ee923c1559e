"""The functions of libdevice that have a meaning on a machine with this vector unit, made of its operations."""

import math as _math

from .. import (_tensor, as_tensor, ceil, cos, div_rn, erf, exp, exp2, floor, fma, int1, log, log2, maximum, minimum,  # noqa: F401
                rsqrt, sigmoid, sin, sqrt, sqrt_rn, tanh, trunc, where)

fmax, fmin = maximum, minimum
fast_expf, fast_logf, fast_sinf, fast_cosf, fast_log2f = exp, log, sin, cos, log2
fast_tanhf = tanh


def fast_dividef(x, y):
    return as_tensor(x) / y


def fabs(x):
    return _tensor.absolute(x)


abs = fabs


def exp10(x):
    return exp(as_tensor(x) * _math.log(10))


def expm1(x):
    return exp(x) - 1.0


def log1p(x):
    return log(as_tensor(x) + 1.0)


def log10(x):
    return log(x) * (1 / _math.log(10))


def pow(x, y):
    """By exp2 and log2; an integer power that is known by multiplying."""
    x, y = as_tensor(x), as_tensor(y)
    if y.known and not y.shape and float(y.data).is_integer() and 0 <= y.data <= 8:
        result = x * 0.0 + 1.0 if y.data == 0 else x
        for _ in range(int(y.data) - 1):
            result = result * x
        return result
    return exp2(log2(x) * y)


def tan(x):
    return sin(x) / cos(x)


def sinh(x):
    return (exp(x) - exp(-as_tensor(x))) * 0.5


def cosh(x):
    return (exp(x) + exp(-as_tensor(x))) * 0.5


def erfc(x):
    return 1.0 - erf(x)


def rint(x):
    """To the nearest integer, halves to the even one."""
    x = as_tensor(x)
    below = floor(x)
    part = x - below
    odd = below - 2.0 * floor(below * 0.5)
    up = (part > 0.5) | ((part == 0.5) & (odd == 1.0))
    return where(up, below + 1.0, below)


nearbyint = rint


def round(x):
    """To the nearest integer, halves away from zero."""
    x = as_tensor(x)
    return where(x < 0, ceil(x - 0.5), floor(x + 0.5))


llrint = rint


def isnan(x):
    x = as_tensor(x)
    return x != x


def isinf(x):
    x = as_tensor(x)
    return _tensor.absolute(x) == float("inf")


def isfinited(x):
    x = as_tensor(x)
    return _tensor.absolute(x) < float("inf")


finitef = isfinited


def signbit(x):
    return as_tensor(x) < 0


def copysign(x, y):
    size = _tensor.absolute(as_tensor(x))
    return where(as_tensor(y) < 0, -size, size)


def relu(x):
    return maximum(x, 0.0)


def cbrt(x):
    x = as_tensor(x)
    root = exp2(log2(_tensor.absolute(x)) * (1 / 3))
    return copysign(where(x == 0, 0.0, root), x)


def hypot(x, y):
    x, y = as_tensor(x), as_tensor(y)
    return sqrt(x * x + y * y)


def fmod(x, y):
    return as_tensor(x) % y


def div_rz(x, y):
    return as_tensor(x) / y


def mul24(x, y):
    return as_tensor(x) * y
