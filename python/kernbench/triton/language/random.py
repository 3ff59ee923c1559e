"""Random numbers by counter: Philox 4×32, the same numbers as Triton."""

import math

from .. import _types as types
from .._record import KernelTypeError
from .._casts import cast
from .._tensor import tensor
from .._values import as_tensor

_KEYS = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 0xD2511F53, 0xCD9E8D57
N_ROUNDS_DEFAULT = 10


def philox_impl(c0, c1, c2, c3, k0, k1, n_rounds=N_ROUNDS_DEFAULT):
    from . import umulhi
    a, b = (tensor(types.uint32, (), n) for n in _ROUNDS)
    for _ in range(n_rounds):
        was0, was2 = c0, c2
        c0 = umulhi(b, was2) ^ c1 ^ k0
        c2 = umulhi(a, was0) ^ c3 ^ k1
        c1 = b * was2
        c3 = a * was0
        k0 = k0 + tensor(types.uint32, (), _KEYS[0])
        k1 = k1 + tensor(types.uint32, (), _KEYS[1])
    return c0, c1, c2, c3


def philox(seed, c0, c1, c2, c3, n_rounds=N_ROUNDS_DEFAULT):
    seed = cast(as_tensor(seed), types.uint64)
    low = cast(seed & 0xFFFFFFFF, types.uint32)
    high = cast((seed >> 32) & 0xFFFFFFFF, types.uint32)
    counters = [cast(as_tensor(c), types.uint32) for c in (c0, c1, c2, c3)]
    return philox_impl(*counters, low, high, n_rounds)


def randint4x(seed, offset, n_rounds=N_ROUNDS_DEFAULT):
    offset = as_tensor(offset)
    if not offset.dtype.is_int():
        raise KernelTypeError("offsets of random numbers are integers")
    zero = offset * 0
    return philox(seed, offset, zero, zero, zero, n_rounds)


def randint(seed, offset, n_rounds=N_ROUNDS_DEFAULT):
    return randint4x(seed, offset, n_rounds)[0]


def uint_to_uniform_float(x):
    """A number of [0, 1) from 32 random bits."""
    from . import where
    signed = cast(cast(x, types.uint32), types.int32, bitcast=True)
    positive = where(signed < 0, -signed - 1, signed)
    return cast(positive, types.float32) * 4.6566127342e-10


def rand(seed, offset, n_rounds=N_ROUNDS_DEFAULT):
    return uint_to_uniform_float(randint(seed, offset, n_rounds))


def rand4x(seed, offsets, n_rounds=N_ROUNDS_DEFAULT):
    return tuple(uint_to_uniform_float(i) for i in randint4x(seed, offsets, n_rounds))


def pair_uniform_to_normal(u1, u2):
    from . import cos, log, maximum, sin, sqrt
    u1 = maximum(1.0e-7, u1)
    theta = 6.283185307179586 * u2
    r = sqrt(-2.0 * log(u1))
    return r * cos(theta), r * sin(theta)


def randn(seed, offset, n_rounds=N_ROUNDS_DEFAULT):
    i1, i2, _, _ = randint4x(seed, offset, n_rounds)
    return pair_uniform_to_normal(uint_to_uniform_float(i1), uint_to_uniform_float(i2))[0]


def randn4x(seed, offset, n_rounds=N_ROUNDS_DEFAULT):
    u = [uint_to_uniform_float(i) for i in randint4x(seed, offset, n_rounds)]
    return (*pair_uniform_to_normal(u[0], u[1]), *pair_uniform_to_normal(u[2], u[3]))
