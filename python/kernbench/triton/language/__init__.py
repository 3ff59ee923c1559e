"""`triton.language` on a simulated machine. See docs/triton.md for what is supported, ignored and refused."""

import builtins
import math as _math
import operator as _operator

import numpy as np

from .. import _memory, _tensor
from .. import _types
from .._record import KernelTypeError, KernelValueError, Refused, current, kernel_line, line_text
from .._tensor import (as_tensor, block_type, broadcast_to, cast, core_type, elementwise, expand_dims, operand, recorded,
                       reshape, tensor, tile_of, trans, truth)
from .._types import (bfloat16, dtype, float8e4b8, float8e4b15, float8e4nv, float8e5, float8e5b16, float16, float32, float64,
                      int1, int8, int16, int32, int64, pi32_t, pointer_type, uint8, uint16, uint32, uint64, void)

str_to_ty = _types.by_name
PropagateNan = type("PropagateNan", (), {"NONE": 0, "ALL": 1})
TRITON_MAX_TENSOR_NUMEL = 1048576


class constexpr:
    """A value known when the kernel is launched: here plain Python values are, so it is the value itself."""

    def __new__(cls, value=None):
        return value


const = constexpr


# ── programs ──

def program_id(axis):
    return tensor(int32, (), current().ids[_axis(axis)])


def num_programs(axis):
    return tensor(int32, (), current().launch.grid[_axis(axis)])


def _axis(axis):
    axis = _operator.index(axis)
    if axis not in (0, 1, 2):
        raise KernelValueError(f"axis {axis} of the grid: it has axes 0, 1 and 2")
    return axis


def cdiv(x, div):
    if isinstance(x, int) and isinstance(div, int):
        return -(-x // div)
    return (x + (div - 1)) // div


def range(arg1, arg2=None, step=None, **ignored):
    """range() of known numbers; what steers a compiler (num_stages …) has no effect."""
    bounds = [arg1] if arg2 is None else [arg1, arg2]
    if step is not None:
        bounds = ([0] if arg2 is None else []) + bounds + [step]
    return builtins.range(*[_operator.index(b) for b in bounds])


static_range = range


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


# ── making ──

def _shape(shape):
    shape = shape if isinstance(shape, (list, tuple)) else [shape]
    return tuple(_operator.index(n) for n in shape)


def arange(start, end):
    start, end = _operator.index(start), _operator.index(end)
    if end <= start:
        raise KernelValueError(f"arange({start}, {end}): the end must be greater than the start")
    return tensor(int32, (end - start,), np.arange(start, end, dtype=np.int32),
                  made=lambda: current().core().arange(start, end))


def full(shape, value, dtype=None):
    shape = _shape(shape)
    x = as_tensor(value)
    x = cast(x, dtype) if dtype is not None else x
    return broadcast_to(x, shape)


def zeros(shape, dtype):
    return full(shape, 0, dtype)


def zeros_like(input):
    return zeros(input.shape, input.dtype)


def full_like(input, value, dtype=None):
    return full(input.shape, value, dtype or input.dtype)


def bitcast(x, type):
    return cast(x, type, True)


def broadcast(input, other):
    input, other = as_tensor(input), as_tensor(other)
    shape = np.broadcast_shapes(input.shape, other.shape)
    return broadcast_to(input, shape), broadcast_to(other, shape)


def permute(input, *dims):
    return trans(input, *dims)


def view(input, *shape):
    return reshape(input, *shape)


def ravel(x, can_reorder=False):
    return reshape(x, [x.numel])


def _stacked(parts, axis, new_axis):
    """Several blocks as one, along an axis that is there or a new one."""
    parts = [expand_dims(as_tensor(p), axis) if new_axis else as_tensor(p) for p in parts]
    types = parts[0].dtype
    if builtins.any(p.dtype != types for p in parts):
        raise KernelTypeError(f"blocks of {', '.join(str(p.dtype) for p in parts)} as one: cast them to one type first")
    record = lambda: current().core().cat([tile_of(p) for p in parts], axis)
    if builtins.all(p.known for p in parts):
        data = np.concatenate([np.asarray(p.data, p.dtype.numpy).reshape(p.shape) for p in parts], axis)
        return tensor(types, data.shape, data, made=record)
    return recorded(types, record())


def join(a, b):
    a, b = broadcast(a, b)
    type = _types.promote(a.dtype, b.dtype, False, False, False)
    return _stacked([cast(a, type), cast(b, type)], len(a.shape), True)


def split(a):
    if not a.shape or a.shape[-1] != 2:
        raise KernelValueError(f"split of a block of shape {list(a.shape)}: its last axis has 2 elements")
    return a[..., 0], a[..., 1]


def interleave(a, b):
    joined = join(a, b)
    return reshape(joined, list(joined.shape[:-2]) + [joined.shape[-2] * 2]) if len(joined.shape) > 1 else joined


def cat(input, other, can_reorder=False, dim=0):
    return _stacked([input, other], dim, False)


def flip(x, dim=None):
    axis = _one_axis(x, dim)
    parts = [x[tuple([slice(None)] * axis + [slice(i, i + 1)])] for i in reversed(builtins.range(x.shape[axis]))]
    if x.known:
        data = np.flip(x.data, axis)
        return tensor(x.dtype, x.shape, data, made=lambda: tile_of(_stacked(parts, axis, False)))
    return _stacked(parts, axis, False)


def _one_axis(x, axis):
    axis = len(x.shape) - 1 if axis is None else _operator.index(axis)
    axis = axis + len(x.shape) if axis < 0 else axis
    if not 0 <= axis < len(x.shape):
        raise KernelValueError(f"axis {axis} of a block of shape {list(x.shape)}")
    return axis


# ── memory ──

def load(pointer, mask=None, other=None, boundary_check=(), padding_option="", cache_modifier="", eviction_policy="",
         volatile=False):
    if isinstance(pointer, _memory.BlockPointer):
        if mask is not None or other is not None:
            raise KernelValueError("a block pointer takes boundary_check and padding_option, not mask and other")
        return _memory.load_block(pointer, boundary_check, padding_option)
    if isinstance(pointer, (list, tuple)):
        return tuple(load(p, mask, other) for p in pointer)
    return _memory.load(pointer, mask, other)


def store(pointer, value, mask=None, boundary_check=(), cache_modifier="", eviction_policy=""):
    if isinstance(pointer, _memory.BlockPointer):
        if mask is not None:
            raise KernelValueError("a block pointer takes boundary_check, not a mask")
        return _memory.store_block(pointer, value, boundary_check)
    return _memory.store(pointer, value, mask)


def make_block_ptr(base, shape, strides, offsets, block_shape, order=None):
    return _memory.BlockPointer(base, shape, strides, offsets, block_shape, order)


def advance(base, offsets):
    return base.advanced(offsets)


def make_tensor_descriptor(base, shape, strides, block_shape, padding_option="zero"):
    return _memory.TensorDescriptor(base, shape, strides, block_shape, padding_option)


_experimental_make_tensor_descriptor = make_tensor_descriptor
tensor_descriptor = _memory.TensorDescriptor


def load_tensor_descriptor(desc, offsets):
    return desc.load(offsets)


def store_tensor_descriptor(desc, offsets, value):
    return desc.store(offsets, value)


def _atomic(name):
    def operation(pointer, val, mask=None, sem=None, scope=None):
        return _memory.atomic(name, pointer, val, mask)
    operation.__name__ = f"atomic_{name}"
    return operation


atomic_add, atomic_max, atomic_min, atomic_and, atomic_or, atomic_xor = map(_atomic, "add max min and or xor".split())


def _refused(name, why):
    def operation(*args, **options):
        raise Refused(f"{name} at {line_text(kernel_line())}: {why}")
    operation.__name__ = name
    return operation


_ORDER = ("its result decides what a program does next, and which program comes first is known only after the simulation")
atomic_cas = _refused("atomic_cas", _ORDER)
atomic_xchg = _refused("atomic_xchg", _ORDER)
inline_asm_elementwise = _refused("inline_asm_elementwise", "assembly of another machine means nothing here; write it in Triton")
dot_scaled = _refused("dot_scaled", "the matrix unit of this machine has no block scales; scale the operands, or the product")


# ── matrix ──

def dot(input, other, acc=None, input_precision=None, allow_tf32=None, max_num_imprecise_acc=None, out_dtype=float32):
    a, b = as_tensor(input), as_tensor(other)
    if len(a.shape) < 2 or len(a.shape) != len(b.shape) or a.shape[-1] != b.shape[-2]:
        raise KernelValueError(f"dot of {list(a.shape)} and {list(b.shape)}: [M, K] · [K, N] was expected")
    if a.dtype != b.dtype and not (a.dtype.is_fp8() and b.dtype.is_fp8()):
        raise KernelTypeError(f"dot of {a.dtype} and {b.dtype}: cast one of them first")
    if a.dtype.is_int() and out_dtype in (float32, None):
        out_dtype = int32
    out_dtype = acc.dtype if isinstance(acc, tensor) else out_dtype
    operands = tile_of(a), tile_of(b)
    at = kernel_line()

    def multiplied(sum):
        instance = current()
        instance.tl.set_line(*at)
        instance.pinned = at
        extra = {} if sum is None else {"acc": tile_of(sum)}
        return instance.tl.dot(*operands, out_dtype=core_type(out_dtype), **extra)

    shape = a.shape[:-1] + b.shape[-1:]
    if acc is not None:
        acc = as_tensor(acc)
        zero = acc.known and not np.any(acc.data)
        return recorded(out_dtype, multiplied(None if zero else broadcast_to(acc, shape)))
    return tensor(out_dtype, shape, dot=multiplied)


# ── elementwise ──

def where(condition, x, y):
    x_number, y_number = _tensor.is_number(x), _tensor.is_number(y)
    condition, x, y = truth(as_tensor(condition)), as_tensor(x), as_tensor(y)
    if isinstance(x.dtype, pointer_type) or isinstance(y.dtype, pointer_type):
        return _chosen_pointer(condition, x, y)
    type = _types.promote(x.dtype, y.dtype, x_number, y_number, False)
    x, y = cast(x, type), cast(y, type)
    if condition.known and not condition.shape and condition.tile is None:
        shape = np.broadcast_shapes(x.shape, y.shape)
        return broadcast_to(x if condition.data else y, shape)
    record = lambda: current().core().where(tile_of(condition), *_two_operands(x, y))
    if condition.known and x.known and y.known:
        data = np.where(condition.data, x.data, y.data)
        data = _tensor.rounded(data, type)
        return tensor(type, data.shape, data if data.shape else data[()].item(), made=record)
    tile = record()
    shape = np.broadcast_shapes(condition.shape, x.shape, y.shape)
    return broadcast_to(recorded(type, tile), shape)


def _two_operands(x, y):
    a, b = operand(x), operand(y)
    if not isinstance(a, (int, float)) or not isinstance(b, (int, float)):
        return a, b
    return tile_of(x), b


def _chosen_pointer(condition, x, y):
    if not condition.known:
        raise KernelTypeError("where of pointers by a computed condition: addresses must be known while the kernel is recorded")
    type = x.dtype if isinstance(x.dtype, pointer_type) else y.dtype
    data = np.where(condition.data, x.data, y.data)
    return tensor(type, data.shape, data if data.shape else int(data))


def _numpy_erf(x):
    return np.vectorize(_math.erf)(x)


def _unary(name, known, core=None, as_float=True):
    """A function of one value. Where the kernel language has it under another name, `core` says which."""
    core = core or name

    def function(x, _=None):
        x = as_tensor(x)
        if as_float and x.dtype.is_int():
            x = cast(x, float32)
        record = lambda: getattr(current().core(), core)(tile_of(x))
        if not x.known:
            return recorded(x.dtype, record())
        with np.errstate(all="ignore"):
            data = _tensor._as_data(known(np.asarray(x.data, np.float64)), x.dtype)
        return tensor(x.dtype, x.shape, data, made=_tensor._if_made((x,), record, x.shape))

    function.__name__ = function.__qualname__ = name
    return function


exp = _unary("exp", np.exp)
exp2 = _unary("exp2", np.exp2)
log = _unary("log", np.log)
log2 = _unary("log2", np.log2)
sin = _unary("sin", np.sin)
cos = _unary("cos", np.cos)
tanh = _unary("tanh", np.tanh)
sqrt = _unary("sqrt", np.sqrt)
sqrt_rn = _unary("sqrt_rn", np.sqrt, core="sqrt")
rsqrt = _unary("rsqrt", lambda x: 1 / np.sqrt(x))
erf = _unary("erf", _numpy_erf)
sigmoid = _unary("sigmoid", lambda x: 1 / (1 + np.exp(-x)))
floor = _unary("floor", np.floor)
ceil = _unary("ceil", np.ceil)


def trunc(x):
    return where(as_tensor(x) < 0, ceil(x), floor(x))


def abs(x):
    return _tensor.absolute(x)


def fma(x, y, z):
    x, y, z = as_tensor(x), as_tensor(y), as_tensor(z)
    if x.known and y.known and z.known:
        return x * y + z
    type = _types.promote(_types.promote(x.dtype, y.dtype, False, False, False), z.dtype, False, False, False)
    return recorded(type, _tensor._calculated("fma", (x, y, z), type, type))


def fdiv(x, y, ieee_rounding=False):
    return as_tensor(x) / y


def div_rn(x, y):
    return as_tensor(x) / y


def maximum(x, y, propagate_nan=None):
    return _tensor.binary("maximum", x, y)


def minimum(x, y, propagate_nan=None):
    return _tensor.binary("minimum", x, y)


def clamp(x, min, max, propagate_nan=None):
    return minimum(maximum(x, min), max)


def umulhi(x, y):
    x, y = as_tensor(x), as_tensor(y)
    type = _types.promote(x.dtype, y.dtype, False, False, False)
    bits = type.primitive_bitwidth
    record = lambda: _tensor._calculated("umulhi", (x, y), type, type)
    if not (x.known and y.known):
        return recorded(type, record())
    unsigned = np.uint64 if bits <= 32 else object
    mask = (1 << bits) - 1
    a, b = (np.asarray(v.data).astype(object) & mask if unsigned is object else
            (np.asarray(v.data).astype(np.int64) & mask).astype(np.uint64) for v in (x, y))
    high = (a * b) >> (bits if unsigned is object else np.uint64(bits))
    data = np.asarray(high).astype(np.uint64).astype(np.dtype(f"u{bits // 8}")).astype(type.numpy)
    data = data if data.shape else data[()].item()
    return tensor(type, np.shape(data), data, made=_tensor._if_made((x, y), record, np.shape(data)))


def _arithmetic(op):
    def operation(x, y, sanitize_overflow=True):
        return op(as_tensor(x), y)
    return operation


add, sub, mul = _arithmetic(_operator.add), _arithmetic(_operator.sub), _arithmetic(_operator.mul)


def logical_and(x, y):
    return _tensor.logical("bit_and", x, y)


def logical_or(x, y):
    return _tensor.logical("bit_or", x, y)


def softmax(x, dim=None, keep_dims=False, ieee_rounding=False):
    x = as_tensor(x)
    x = cast(x, float32) if x.dtype.is_int() else x
    axis = 0 if dim is None else _one_axis(x, dim)
    return recorded(x.dtype, current().core().softmax(tile_of(x), axis))


# ── reductions and scans ──

def _reduced(x, axis, keep_dims, name, known, type=None):
    type = type or x.dtype
    axis = None if axis is None else _one_axis(x, axis)

    def record():
        tile = getattr(current().core(), name)(tile_of(x), axis=axis, keep_dims=keep_dims)
        return tile

    if not x.shape:
        return x
    if not x.known:
        return recorded(type, record())
    data = known(x.data, axis=axis, keepdims=keep_dims)
    data = _tensor._as_data(data, type)
    return tensor(type, np.shape(data), data, made=record)


def _widened(x):
    """Types under 32 bits are reduced in 32, as Triton does."""
    if x.dtype.primitive_bitwidth >= 32:
        return x
    if x.dtype.is_floating():
        return cast(x, float32)
    return cast(x, uint32 if x.dtype.kind == "uint" else int32)


def sum(input, axis=None, keep_dims=False, dtype=None):
    x = as_tensor(input)
    if dtype is not None:
        x = cast(x, dtype)
    elif x.dtype.is_int() and x.dtype.primitive_bitwidth < 32:
        x = _widened(x)
    return _reduced(x, axis, keep_dims, "sum", lambda n, axis, keepdims: np.sum(n, axis=axis, keepdims=keepdims, dtype=n.dtype))


def max(input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False, propagate_nan=None):
    x = _widened(as_tensor(input))
    largest = _reduced(x, axis, keep_dims, "max", np.max)
    return (largest, argmax(x, axis, keep_dims=keep_dims)) if return_indices else largest


def min(input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False, propagate_nan=None):
    x = _widened(as_tensor(input))
    smallest = _reduced(x, axis, keep_dims, "min", np.min)
    return (smallest, argmin(x, axis, keep_dims=keep_dims)) if return_indices else smallest


def argmax(input, axis, tie_break_left=True, keep_dims=False):
    x = as_tensor(input)
    return _reduced(x, axis, keep_dims, "argmax", np.argmax, int32)


def argmin(input, axis, tie_break_left=True, keep_dims=False):
    x = as_tensor(input)
    return _reduced(x, axis, keep_dims, "argmin", np.argmin, int32)


def xor_sum(input, axis=None, keep_dims=False):
    x = as_tensor(input)
    if not x.dtype.is_int():
        raise KernelTypeError("xor_sum is for integers")
    return _combined((x,), axis, lambda a, b: a ^ b, keep_dims)[0]


def reduce_or(input, axis, keep_dims=False):
    return _combined((as_tensor(input),), axis, lambda a, b: a | b, keep_dims)[0]


def _part(x, axis, begin, end):
    return x[tuple([slice(None)] * axis + [slice(begin, end)])]


def _called(combine, *values):
    result = combine(*values)
    return result if isinstance(result, (tuple, list)) else (result,)


def _combined(xs, axis, combine, keep_dims):
    """Halves are combined with each other until one element is left: log2 n steps of the whole width."""
    if axis is None:
        xs, axis = tuple(reshape(x, [x.numel]) for x in xs), 0
    axis = _one_axis(xs[0], axis)
    n = xs[0].shape[axis]
    while n > 1:
        half = n // 2
        left = [_part(x, axis, 0, half) for x in xs]
        right = [_part(x, axis, half, 2 * half) for x in xs]
        pairs = _called(combine, *left, *right)
        if n % 2:
            pairs = [_stacked([cast(as_tensor(p), x.dtype), _part(x, axis, n - 1, n)], axis, False) for p, x in zip(pairs, xs)]
        xs = tuple(as_tensor(p) for p in pairs)
        n = half + n % 2
    if keep_dims:
        return xs
    return tuple(x[tuple([slice(None)] * axis + [0])] for x in xs)


def reduce(input, axis, combine_fn, keep_dims=False):
    several = isinstance(input, (tuple, list))
    xs = tuple(as_tensor(x) for x in (input if several else (input,)))
    result = _combined(xs, axis, combine_fn, keep_dims)
    return result if several else result[0]


def associative_scan(input, axis, combine_fn, reverse=False):
    """Each element combined with all before it: log2 n steps."""
    several = isinstance(input, (tuple, list))
    xs = tuple(as_tensor(x) for x in (input if several else (input,)))
    axis = _one_axis(xs[0], axis)
    n = xs[0].shape[axis]
    distance = 1
    while distance < n:
        near = [_part(x, axis, distance, n) for x in xs] if not reverse else [_part(x, axis, 0, n - distance) for x in xs]
        far = [_part(x, axis, 0, n - distance) for x in xs] if not reverse else [_part(x, axis, distance, n) for x in xs]
        rest = [_part(x, axis, 0, distance) if not reverse else _part(x, axis, n - distance, n) for x in xs]
        pairs = _called(combine_fn, *far, *near)
        xs = tuple(_stacked([r, cast(as_tensor(p), r.dtype)] if not reverse else [cast(as_tensor(p), r.dtype), r], axis, False)
                   for p, r in zip(pairs, rest))
        distance *= 2
    return xs if several else xs[0]


def cumsum(input, axis=0, reverse=False, dtype=None):
    x = as_tensor(input)
    if dtype is not None:
        x = cast(x, dtype)
    elif x.dtype.is_int() and x.dtype.primitive_bitwidth < 32:
        x = _widened(x)
    return associative_scan(x, axis, lambda a, b: a + b, reverse)


def cumprod(input, axis=0, reverse=False):
    return associative_scan(as_tensor(input), axis, lambda a, b: a * b, reverse)


def histogram(input, num_bins, mask=None):
    """How often each number below num_bins occurs: every bin is compared with all elements, and counted."""
    x = as_tensor(input)
    bins = arange(0, _operator.index(num_bins))
    hits = cast(x[:, None] == bins[None, :], int32)
    if mask is not None:
        hits = where(as_tensor(mask)[:, None], hits, 0)
    return sum(hits, 0)


def gather(src, index, axis):
    """src at the places that index names along the axis."""
    src, index = as_tensor(src), as_tensor(index)
    axis = _one_axis(src, axis)
    if src.known and index.known:
        data = np.take_along_axis(src.data, index.data.astype(np.int64), axis)
        return tensor(src.dtype, data.shape, data, made=lambda: _gathered(src, index, axis))
    return recorded(src.dtype, _gathered(src, index, axis))


def _gathered(src, index, axis):
    """Each source element is compared with the index and selected: n steps, as a machine without a shuffle unit does it."""
    if len(src.shape) != 1:
        raise Refused("gather of blocks with more than one axis: the vector unit cannot shuffle rows; load them through pointers")
    places = arange(0, src.shape[axis])
    hits = index[:, None] == places[None, :]
    zero = full([], 0, src.dtype)
    return tile_of(sum(where(hits, src[None, :], zero), 1))


def sort(x, dim=None, descending=False):
    """A bitonic network: log2² n steps of comparing and selecting."""
    x = as_tensor(x)
    axis = _one_axis(x, dim)
    n = x.shape[axis]
    if n & (n - 1):
        raise KernelValueError(f"sort along an axis of {n} elements: a power of two was expected")
    if axis != len(x.shape) - 1:
        raise KernelValueError("sort works along the last axis")
    lead = x.shape[:-1]
    k = 2
    while k <= n:
        j = k // 2
        while j >= 1:
            x = _bitonic_step(x, lead, n, k, j, descending)
            j //= 2
        k *= 2
    return x


def _bitonic_step(x, lead, n, k, j, descending):
    blocks = reshape(x, list(lead) + [n // (2 * j), 2, j])
    low, high = blocks[..., 0, :], blocks[..., 1, :]
    small, large = minimum(low, high), maximum(low, high)
    first = np.arange(n // (2 * j)) * 2 * j
    up = ((first & k) == 0) != descending
    lanes = np.broadcast_to(up[:, None], small.shape[-2:])
    rising = _pattern(lanes, first, k, j, descending)
    a, b = where(rising, small, large), where(rising, large, small)
    return reshape(_stacked([a, b], len(a.shape) - 1, True), list(lead) + [n])


def _pattern(lanes, first, k, j, descending):
    """Which blocks of a bitonic step rise, as a known value that can be recorded."""
    rows = arange(0, len(first))[:, None] if len(first) > 1 else full([1, 1], 0, int32)
    even = ((rows * (2 * j)) & k) == 0
    return broadcast_to(even if not descending else ~even, lanes.shape)


def topk(x, k, dim=None):
    return _part(sort(x, dim, True), _one_axis(x, dim), 0, _operator.index(k))


from . import math  # noqa: E402
from .random import (pair_uniform_to_normal, philox, philox_impl, rand, rand4x, randint, randint4x, randn, randn4x,  # noqa: E402
                     uint_to_uniform_float)
from . import extra, standard, core  # noqa: E402

_METHODS = {name: globals()[name] for name in (
    "abs argmax argmin associative_scan atomic_add atomic_and atomic_max atomic_min atomic_or broadcast_to cdiv ceil cos cumprod "
    "cumsum erf exp exp2 expand_dims flip floor gather histogram log log2 logical_and logical_or max min permute ravel reduce "
    "reshape rsqrt sigmoid sin softmax sort split sqrt sqrt_rn store sum view xor_sum advance load").split()}
