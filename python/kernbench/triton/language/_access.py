"""Loads, stores, atomics, block pointers and tensor descriptors; and what is refused."""

from .. import _memory
from .._record import KernelTypeError, KernelValueError, Refused, kernel_line, line_text


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
    return _of_kind(base, _memory.BlockPointer, "advance", "a block pointer").advanced(offsets)


def make_tensor_descriptor(base, shape, strides, block_shape, padding_option="zero"):
    return _memory.TensorDescriptor(base, shape, strides, block_shape, padding_option)


_experimental_make_tensor_descriptor = make_tensor_descriptor
tensor_descriptor = _memory.TensorDescriptor


def load_tensor_descriptor(desc, offsets):
    return _of_kind(desc, _memory.TensorDescriptor, "load", "a tensor descriptor").load(offsets)


def store_tensor_descriptor(desc, offsets, value):
    return _of_kind(desc, _memory.TensorDescriptor, "store", "a tensor descriptor").store(offsets, value)


def _of_kind(value, kind, call, expected):
    if not isinstance(value, kind):
        raise KernelTypeError(f"{call} of {value!r}: {expected} was expected")
    return value


def _atomic(name):
    def operation(pointer, val, mask=None, sem=None, scope=None):
        return _memory.atomic(name, pointer, val, mask)
    operation.__name__ = operation.__qualname__ = f"atomic_{name}"
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
globaltimer = _refused("globaltimer", "a kernel is recorded before it runs, so it has no clock; the launch's trace has the times")
smid = _refused("smid", "which PE a program runs on is the launch's schedule; use tl.program_id")


def _experimental_descriptor_load(desc, offsets, shape=None, dtype=None):
    return desc.load(offsets)


def _experimental_descriptor_store(desc, value, offsets):
    return desc.store(offsets, value)
