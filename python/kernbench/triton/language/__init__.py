"""`triton.language` on a simulated machine. See docs/triton.md for what is supported, ignored and refused."""

from .. import _types
from .._errors import missing
from .._arithmetic import elementwise  # noqa: F401
from .._shapes import broadcast_to, expand_dims, reshape, trans
from .._tensor import block_type, tensor
from .._types import (bfloat16, dtype, float8e4b8, float8e4b15, float8e4nv, float8e5, float8e5b16, float16, float32, float64,
                      int1, int8, int16, int32, int64, pi32_t, pointer_type, uint8, uint16, uint32, uint64, void)
from ._access import (_experimental_descriptor_load, _experimental_descriptor_store, _experimental_make_tensor_descriptor, advance,
                      atomic_add, atomic_and, atomic_cas, atomic_max, atomic_min, atomic_or, atomic_xchg, atomic_xor, dot_scaled,
                      globaltimer, inline_asm_elementwise, load, load_tensor_descriptor, make_block_ptr, make_tensor_descriptor,
                      smid, store, store_tensor_descriptor, tensor_descriptor)
from ._blocks import (arange, bitcast, broadcast, cast, cat, flip, full, full_like, interleave, join, permute, ravel, split, squeeze,
                      unsqueeze, view, zeros, zeros_like)
from ._functions import (abs, add, ceil, clamp, cos, div_rn, dot, erf, exp, exp2, fdiv, floor, fma, log, log2, logical_and,
                         logical_or, maximum, minimum, mul, rsqrt, sigmoid, sin, softmax, sqrt, sqrt_rn, sub, tanh, trunc, umulhi,
                         where)
from ._programs import (assume, cdiv, condition, const, constexpr, debug_barrier, device_assert, device_print, map_elementwise,
                        max_constancy, max_contiguous, multiple_of, num_programs, program_id, range, static_assert, static_print,
                        static_range, swizzle2d, to_tensor)
from ._reductions import (argmax, argmin, associative_scan, bitonic_merge, cumprod, cumsum, gather, histogram, max, min, reduce,
                          reduce_or, sort, sum, topk, xor_sum)

str_to_ty = _types.by_name
PropagateNan = type("PropagateNan", (), {"NONE": 0, "ALL": 1})
TRITON_MAX_TENSOR_NUMEL = 1048576
tuple = tuple
slice = slice

from . import math  # noqa: E402
from .random import (pair_uniform_to_normal, philox, philox_impl, rand, rand4x, randint, randint4x, randn, randn4x,  # noqa: E402
                     uint_to_uniform_float)
from . import extra, standard, core, target_info  # noqa: E402
from .extra import libdevice  # noqa: E402: its name in Triton 2


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    raise missing("triton.language", name, globals())


_METHODS = {name: globals()[name] for name in (
    "abs argmax argmin associative_scan atomic_add atomic_and atomic_cas atomic_max atomic_min atomic_or atomic_xchg atomic_xor "
    "broadcast_to cdiv ceil "
    "cos cumprod cumsum erf exp exp2 expand_dims flip floor gather histogram log log2 logical_and logical_or max min permute "
    "ravel reduce reduce_or reshape rsqrt sigmoid sin softmax sort split sqrt sqrt_rn squeeze store sum topk unsqueeze view xor_sum advance "
    "load").split()}
