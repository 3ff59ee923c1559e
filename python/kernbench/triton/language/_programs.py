"""Programs of the grid, loops, and what only a compiler listens to."""

import builtins
import functools

import numpy as np

from .. import _types
from .._record import KernelTypeError, KernelValueError, current, kernel_line, line_text
from .._tensor import tensor
from .._types import int32
from .._values import as_tensor, whole


class constexpr:
    """A value known when the kernel is launched: here plain Python values are, so it is the value itself."""

    def __new__(cls, value=None):
        return value


const = constexpr


def program_id(axis):
    return tensor(int32, (), current().ids[_axis(axis)])


def num_programs(axis):
    return tensor(int32, (), current().launch.grid[_axis(axis)])


def _axis(axis):
    axis = whole(axis, "an axis of the grid")
    if axis not in (0, 1, 2):
        raise KernelValueError(f"axis {axis} of the grid: it has axes 0, 1 and 2")
    return axis


def cdiv(x, div):
    if isinstance(x, int) and isinstance(div, int):
        return -(-x // div)
    return (x + (div - 1)) // div


def _bounds(arg1, arg2, step):
    return (0 if arg2 is None else arg1), (arg1 if arg2 is None else arg2), (1 if step is None else step)


def range(arg1, arg2=None, step=None, **ignored):
    """Counts in scalars of the bounds' common integer type; what steers a compiler (num_stages …) has no effect."""
    bounds = [as_tensor(b) for b in _bounds(arg1, arg2, step)]
    for bound in bounds:
        if not bound.dtype.is_int():
            raise KernelTypeError(f"a range whose bound is {bound.dtype}: bounds and step are integers")
    type = functools.reduce(_types.promote_integers, [b.dtype for b in bounds])
    return map(lambda number: tensor(type, (), number), _numbers(*bounds))


def static_range(arg1, arg2=None, step=None, **ignored):
    """Counts in plain numbers, which are constants of the kernel."""
    return _numbers(*_bounds(arg1, arg2, step))


def _numbers(begin, end, step):
    step = whole(step, "the step of a range")
    if step == 0:
        raise KernelValueError("a range with a step of 0 does not end")
    return builtins.range(whole(begin, "the start of a range"), whole(end, "the end of a range"), step)


def condition(arg, **ignored):
    return arg


def static_assert(cond, msg=""):
    if not cond:
        raise AssertionError(msg or f"static_assert failed at {line_text(kernel_line())}")


def static_print(*values, sep=" ", end="\n", file=None, flush=False):
    print(*values, sep=sep, end=end, file=file, flush=flush)


def device_print(prefix, *values, hex=False):
    """Prints nothing: what is computed is not known yet."""


def device_assert(cond, msg="", mask=None):
    """Checks what is known while recording; what is computed later is not checked."""
    cond = as_tensor(cond)
    if not cond.known:
        return
    held = np.asarray(cond.data) != 0
    if mask is not None and as_tensor(mask).known:
        held = held | ~np.asarray(as_tensor(mask).data, bool)
    if not held.all():
        raise AssertionError(msg or f"device_assert failed at {line_text(kernel_line())}")


def assume(cond):
    return cond


def multiple_of(input, values=None):
    return input


max_contiguous = multiple_of
max_constancy = multiple_of


def debug_barrier():
    """No effect: a program is one thread here."""


def to_tensor(x):
    return as_tensor(x)


def swizzle2d(i, j, size_i, size_j, size_g):
    """Where block (i, j) of a matrix is taken if size_g rows at a time are gone through column by column."""
    from ._functions import minimum
    place = i * size_j + j
    group = place // (size_g * size_j)
    first = group * size_g
    rows = minimum(size_i - first, size_g)
    inside = place % (size_g * size_j)
    return first + inside % rows, inside // rows


def map_elementwise(scalar_fn, *args, pack=1):
    """The function of scalars on whole blocks: their operations are elementwise here."""
    return current().elementwise(scalar_fn, *args)
