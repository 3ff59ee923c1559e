"""The functions of libdevice that have a meaning on a machine with this vector unit, made of its operations."""

import math as _math

from ..._arithmetic import absolute as _absolute
from ..._values import as_tensor
from ..._record import Refused as _Refused
from .. import (bitcast, ceil, cos, div_rn, erf, exp, exp2, floor, fma, float32, int32, int64, log, log2, maximum, minimum,  # noqa: F401
                rsqrt, sigmoid, sin, sqrt, sqrt_rn, tanh, trunc, uint32, umulhi, where)

fmax, fmin = maximum, minimum
fast_expf, fast_logf, fast_sinf, fast_cosf, fast_log2f = exp, log, sin, cos, log2
fast_tanhf = tanh


def fast_dividef(x, y):
    return as_tensor(x) / y


def fabs(x):
    return _absolute(x)


abs = fabs


def exp10(x):
    return exp(as_tensor(x) * 2.302585092994046)


def expm1(x):
    """Near 0, where 1 is rounded into exp(x), the error is taken out again by the logarithm of what was got."""
    x = as_tensor(x)
    power = exp(x)
    mended = where(power == 1.0, x, (power - 1.0) * x / log(power))
    return where(_absolute(x) < 0.5, mended, power - 1.0)


def log1p(x):
    x = as_tensor(x)
    moved = x + 1.0
    mended = where(moved == 1.0, x, log(moved) * x / (moved - 1.0))
    return where(_absolute(x) < 0.5, mended, log(moved))


def log10(x):
    return log(x) * (1 / 2.302585092994046)


def pow(x, y):
    """By exp2 and log2; a small integer power that is known by multiplying. A number below 0 has integer powers only."""
    x, y = as_tensor(x), as_tensor(y)
    if y.known and not y.shape and float(y.data).is_integer() and _math.fabs(y.data) <= 8:
        return _small_power(x, int(y.data))
    size = exp2(log2(_absolute(x)) * y)
    y = y.to(float32)
    odd, whole = floor(y * 0.5) * 2.0 != y, floor(y) == y
    signed = where(whole, where(odd, -size, size), float("nan"))
    return where(y == 0, 1.0, where(x < 0, signed, size))


def _small_power(x, n):
    result = x * 0.0 + 1.0 if n == 0 else x
    for _ in range(_math.floor(_math.fabs(n)) - 1):
        result = result * x
    return result if n >= 0 else 1.0 / result


def tan(x):
    return sin(x) / cos(x)


def sinh(x):
    x = as_tensor(x)
    less = expm1(x)
    return where(_absolute(x) < 0.5, (less + less / (less + 1.0)) * 0.5, (exp(x) - exp(-x)) * 0.5)


def cosh(x):
    return (exp(x) + exp(-as_tensor(x))) * 0.5


_ERFC = (0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196, 1.00002368, -1.26551223)


def erfc(x):
    """Far from 0, where 1 − erf(x) has no digits left, by a fit of Chebyshev: t · exp(−x² + p(t)), t = 1 / (1 + x / 2)."""
    x = as_tensor(x)
    size = _absolute(x)
    t = 1.0 / (1.0 + 0.5 * size)
    tail = t * exp(_polynomial(_ERFC, t) - size * size)
    return where(size < 0.5, 1.0 - erf(x), where(x < 0, 2.0 - tail, tail))


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


def llrint(x):
    return rint(x).to(int64)


def isnan(x):
    x = as_tensor(x)
    return x != x


def isinf(x):
    x = as_tensor(x)
    return _absolute(x) == float("inf")


def isfinited(x):
    x = as_tensor(x)
    return _absolute(x) < float("inf")


finitef = isfinited


def signbit(x):
    return (as_tensor(x).to(int32, bitcast=True) >> 31) & 1


def copysign(x, y):
    size = _absolute(as_tensor(x))
    return where(signbit(as_tensor(y).to(float32)) != 0, -size, size)


def relu(x):
    return maximum(x, 0.0)


def cbrt(x):
    x = as_tensor(x)
    root = exp2(log2(_absolute(x)) * (1 / 3))
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


# ── other names of the same ──
fast_fdividef = fast_dividef
add_rn = add_rz = add_rd = add_ru = lambda x, y: as_tensor(x) + y
sub_rn = sub_rz = sub_rd = sub_ru = lambda x, y: as_tensor(x) - y
mul_rn = mul_rz = mul_rd = mul_ru = lambda x, y: as_tensor(x) * y
div_rd = div_ru = div_rz
rcp_rn = rcp_rz = rcp_rd = rcp_ru = rcp64h = lambda x: 1.0 / as_tensor(x)
sqrt_rz = sqrt_rd = sqrt_ru = sqrt
rsqrt_rn = rsqrt
fma_rn = fma_rz = fma_rd = fma_ru = fma
fast_exp10f, fast_log10f, fast_powf, fast_tanf = exp10, log10, pow, tan
max, min = maximum, minimum


# ── angles ──
_ATAN = (0.9998660, -0.3302995, 0.1801410, -0.0851330, 0.0208351)  # of a first guess on [0, 1]


def atan(x):
    """A guess by a polynomial, mended by two steps of Newton: t − (sin t − x cos t) / (cos t + x sin t)."""
    x = as_tensor(x)
    size = _absolute(x)
    inverse = size > 1.0
    z = where(inverse, 1.0 / maximum(size, 1.0), size)
    square = z * z
    guess = ((((_ATAN[4] * square + _ATAN[3]) * square + _ATAN[2]) * square + _ATAN[1]) * square + _ATAN[0]) * z
    for _ in range(2):
        s, c = sin(guess), cos(guess)
        guess = guess - (s - z * c) / (c + z * s)
    return copysign(where(inverse, _math.pi / 2 - guess, guess), x)


def asin(x):
    x = as_tensor(x)
    return where(_absolute(x) > 1.0, float("nan"), atan(x * rsqrt(maximum(1.0 - x * x, 1e-30))))


def acos(x):
    return _math.pi / 2 - asin(x)


def atan2(y, x):
    y, x = as_tensor(y), as_tensor(x)
    safe = where(x == 0, 1.0, x)
    sideways = copysign(x * 0.0 + _math.pi / 2, y)
    turned = where(x < 0, copysign(x * 0.0 + _math.pi, y), 0.0)
    return where(x == 0, where(y == 0, 0.0, sideways), atan(y / safe) + turned)


def sinpi(x):
    x = as_tensor(x)
    turn = x - 2.0 * rint(x * 0.5)  # −1 to 1
    return sin(where(_absolute(turn) > 0.5, copysign(1.0, turn) - turn, turn) * _math.pi)


def cospi(x):
    x = as_tensor(x)
    turn = x - 2.0 * rint(x * 0.5)
    return sin((0.5 - _absolute(turn)) * _math.pi)


# ── hyperbolic ──

def asinh(x):
    x = as_tensor(x)
    size = _absolute(x)
    return copysign(log1p(size + size * size / (1.0 + sqrt(size * size + 1.0))), x)


def acosh(x):
    x = as_tensor(x)
    return log(x + sqrt(x * x - 1.0))


def atanh(x):
    x = as_tensor(x)
    return 0.5 * log1p(2.0 * x / (1.0 - x))


# ── probability ──

def normcdf(x):
    return 0.5 * erfc(as_tensor(x) * -_math.sqrt(0.5))


_NEAR = (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164, 0.246640727,
         1.50140941)
_FAR = (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047, 1.00167406,
        2.83297682)


def _polynomial(coefficients, x):
    result = x * 0.0 + coefficients[0]
    for c in coefficients[1:]:
        result = result * x + c
    return result


def erfinv(x):
    """By Giles: a polynomial in the logarithm of 1 − x², one near 0 and one near ±1."""
    x = as_tensor(x)
    w = -log((1.0 - x) * (1.0 + x))
    inside = where(w < 5.0, _polynomial(_NEAR, w - 2.5), _polynomial(_FAR, sqrt(w) - 3.0)) * x
    return where(_absolute(x) == 1.0, copysign(float("inf"), x), inside)


# ── numbers and their bits ──

def saturatef(x):
    return minimum(maximum(x, 0.0), 1.0)


def fdim(x, y):
    return maximum(as_tensor(x) - y, 0.0)


def rhypot(x, y):
    x, y = as_tensor(x), as_tensor(y)
    return rsqrt(x * x + y * y)


def norm3d(x, y, z):
    x, y, z = as_tensor(x), as_tensor(y), as_tensor(z)
    return sqrt(x * x + y * y + z * z)


def rcbrt(x):
    return 1.0 / cbrt(x)


def remainder(x, y):
    """x less the nearest multiple of y."""
    x = as_tensor(x)
    return x - rint(x / y) * y


def ldexp(x, n):
    return as_tensor(x) * exp2(as_tensor(n).to(float32))


scalbn = ldexp


def logb(x):
    return floor(log2(_absolute(as_tensor(x))))


def ilogb(x):
    return logb(x).to(int32)


def llround(x):
    return round(x).to(int64)


lround = llround


def float2int_rn(x):
    return rint(x).to(int32)


def float2int_rz(x):
    return as_tensor(x).to(int32)


def float_as_int(x):
    return bitcast(as_tensor(x), int32)


def float_as_uint(x):
    return bitcast(as_tensor(x), uint32)


def int_as_float(x):
    return bitcast(as_tensor(x), float32)


uint_as_float = int_as_float


def mulhi(x, y):
    """The upper half of a product; of signed numbers that of their bits, less what the sign bits stand for."""
    x, y = as_tensor(x), as_tensor(y)
    high = umulhi(x, y)
    return high - where(x < 0, y, 0) - where(y < 0, x, 0) if high.dtype.is_int_signed() else high


def popc(x):
    """How many bits of a 32-bit integer are 1."""
    x = as_tensor(x).to(uint32, bitcast=True)
    x = x - ((x >> 1) & 0x55555555)
    x = (x & 0x33333333) + ((x >> 2) & 0x33333333)
    return ((((x + (x >> 4)) & 0x0F0F0F0F) * 0x01010101) >> 24).to(int32)


def clz(x):
    """How many bits above the highest 1 are 0."""
    x = as_tensor(x).to(uint32, bitcast=True)
    for step in (1, 2, 4, 8, 16):
        x = x | (x >> step)
    return 32 - popc(x)


def ffs(x):
    """The place of the lowest 1, counted from 1; 0 if there is none."""
    x = as_tensor(x).to(uint32, bitcast=True)
    return popc(x ^ (x - 1)) * (x != 0).to(int32)


# Functions of the library for which this vector unit has no operation, and none is made of others here.
_WITHOUT = frozenset("j0 j1 jn y0 y1 yn cyl_bessel_i0 cyl_bessel_i1 lgamma tgamma erfcx erfcinv normcdfinv nextafter byte_perm brev sad "
                     "hadd rhadd rnorm3d norm4d rnorm4d double2float_rn double_as_longlong longlong_as_double".split())


def __getattr__(name):
    if name not in _WITHOUT:
        raise AttributeError(f"libdevice has no function '{name}'")

    def refused(*args, **options):
        raise _Refused(f"libdevice.{name}: this vector unit has no operation for it, and none is made of others")
    return refused
