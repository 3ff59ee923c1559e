"""Triton kernels as they are, on a machine that does not exist yet.

    from kernbench import triton
    import kernbench.triton.language as tl

    @triton.jit
    def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask), mask=mask)

    add_kernel[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)

The kernel's own Python runs once for every program of the grid and is recorded; docs/triton.md is the guide.
"""

import functools

from . import language, runtime, testing, tools
from ._jit import Autotuner, Config, Heuristics, JITFunction, KernelInterface, Launch, autotune, heuristics, jit
from ._load import install, load
from ._errors import missing
from ._record import KernelTypeError, KernelValueError, Refused, TritonError
from ._values import constant
from .language import constexpr


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    raise missing("triton", name, globals())


__version__ = "3.6.0"  # the language that is followed


def cdiv(x, y):
    """⌈x / y⌉"""
    return (x + y - 1) // y


def next_power_of_2(n):
    return 1 << max(int(n) - 1, 0).bit_length()


def constexpr_function(fn):
    """A function of constants: a plain Python function, which gets plain numbers."""
    @functools.wraps(fn)
    def of_constants(*args, **options):
        return fn(*map(constant, args), **{name: constant(value) for name, value in options.items()})
    return of_constants


def set_allocator(allocator):
    """No effect: descriptors need no memory of their own here."""


def must_use_result(x, is_tensor=False):
    return x
