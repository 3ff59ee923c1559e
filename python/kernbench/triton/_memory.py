"""Loads, stores and atomics through pointers, block pointers and tensor descriptors."""

import functools
import operator

import numpy as np

from . import _types as types
from ._record import KernelTypeError, KernelValueError, Refused, current, kernel_line, line_text
from ._arithmetic import common_shape, truth
from ._casts import cast
from ._shapes import broadcast_to
from ._tensor import tensor
from ._types import pointer_type
from ._values import AtomicResult, as_tensor, core_type, is_exact, rounded, tile_of


class Access:
    """The lanes of a load or store: where each lies, which are on."""

    def __init__(self, pointer, mask, what):
        if not isinstance(pointer, tensor) or not isinstance(pointer.dtype, pointer_type):
            found = pointer.dtype if isinstance(pointer, tensor) else type(pointer).__name__
            raise KernelTypeError(f"{what} through {found}: a pointer was expected. Pass a tensor to the launch, or cast an "
                                  "integer with .to(tl.pointer_type(...))")
        self.type = pointer.dtype.element_ty
        if self.type is types.void:
            raise KernelTypeError(f"{what} through a pointer to void: cast it first")
        self.late_mask = None
        shape = pointer.shape
        if mask is not None:
            mask = truth(as_tensor(mask))
            if mask.shape != shape:
                shape = common_shape(shape, mask.shape)
            if not mask.known:
                self.late_mask, mask = mask, None
        self.shape = tuple(shape)
        addresses = np.asarray(pointer.data, np.int64)
        if addresses.shape != self.shape:
            addresses = np.broadcast_to(addresses, self.shape)
        self.addresses = np.ascontiguousarray(addresses).reshape(-1).view(np.uint64)
        self.on = self._lanes(mask)
        self.what = what
        self._check_mapped()

    def _lanes(self, mask):
        if mask is None or (not mask.shape and mask.data):
            return None
        on = np.asarray(mask.data)
        on = (on if on.shape == self.shape else np.broadcast_to(on, self.shape)).reshape(-1)
        return None if on.all() else np.ascontiguousarray(on).view(np.uint8)

    def active(self):
        return self.addresses if self.on is None else self.addresses[self.on != 0]

    def _check_mapped(self):
        """Every lane that is on lies in a tensor; usually all in one."""
        active = self.active()
        if not active.size:
            return
        size = self.type.itemsize
        spans = current().launch.spans
        low, high = int(active.min()), int(active.max()) + size
        if spans.holds(low, high):
            return
        for lane in np.flatnonzero(self.on) if self.on is not None else range(active.size):
            address = int(self.addresses[lane])
            if not spans.holds(address, address + size):
                raise KernelValueError(
                    f"{self.what} at {line_text(kernel_line())}: lane {int(lane)} of {list(self.shape)} is on and points to "
                    f"{address:#x}, where no tensor lies{spans.nearest(address)}. Is a mask missing?")


def _scalar(other, type):
    """The number of that type that fills lanes that are off; None if it must be selected."""
    if other is None:
        return 0
    other = as_tensor(other)
    if not other.known or other.numel == 0:
        return None
    first = np.asarray(other.data).reshape(-1)[0]
    if other.shape and not (np.asarray(other.data) == first).all():
        return None
    number = rounded(first.item(), type)
    return number if is_exact(number) else None


def load(pointer, mask=None, other=None):
    access = Access(pointer, mask, "load")
    number = _scalar(other, access.type)
    instance = current()
    filled = 0 if number is None else number
    instance.launch.count(access)
    if access.type.is_int():
        result = _load_known(instance, access, filled)
    else:
        core = core_type(access.type)
        tile = instance.core().load_at(access.addresses, access.shape, core, on=access.on, other=float(filled))
        instance.launch.moved(*instance.tl.last_transfer())
        result = tensor(access.type, access.shape, tile=tile)
    if access.late_mask is not None:
        result = _select(access.late_mask, result, filled if number is not None else other)
    elif number is None and access.on is not None:
        result = _select(_mask_value(access), result, other)
    return result


def _select(mask, x, other):
    from .language import where
    return where(mask, x, cast(as_tensor(other), x.dtype))


def _mask_value(access):
    on = (access.on != 0).reshape(access.shape)
    return tensor(types.int1, access.shape, on, tile=_mask_tile(access))


def _mask_tile(access):
    """The mask as a tile, to select by: the lanes' numbers, compared run by run."""
    core = current().core()
    lanes = core.reshape(core.arange(0, len(access.on)), access.shape)
    tile = None
    edges = np.flatnonzero(np.diff(np.concatenate(([0], access.on, [0]))))
    for begin, end in zip(edges[::2], edges[1::2]):
        inside = core.logical_and(core.ge(lanes, int(begin)), core.lt(lanes, int(end)))
        tile = inside if tile is None else core.logical_or(tile, inside)
    return tile if tile is not None else core.lt(lanes, 0)


def _load_known(instance, access, other):
    """The numbers that lie there, and the read that the machine makes for them."""
    launch = instance.launch
    launch.places.read(instance.ids, access)
    core = instance.core()
    name = core_type(access.type)
    flat = np.asarray(core.peek(access.addresses, name, on=access.on))
    flat = flat.view(access.type.numpy) if flat.dtype != access.type.numpy else flat
    flat = _with_own_writes(instance, access, flat)
    if flat is not None and access.on is not None and other:
        flat = np.where(access.on != 0, flat, access.type.numpy.type(other))
    tile = core.load_at(access.addresses, access.shape, name, on=access.on, other=float(other))
    launch.moved(*core.last_transfer())
    if flat is None:
        return tensor(access.type, access.shape, tile=tile)
    data = flat.reshape(access.shape)
    return tensor(access.type, access.shape, data if access.shape else data[()].item(), tile=tile)


def _with_own_writes(instance, access, flat):
    """The numbers of all lanes with what the program has stored there since; None if that is computed."""
    on = slice(None) if access.on is None else access.on != 0
    seen = instance.own_writes.seen(access.active().view(np.int64), access.type.itemsize, flat[on])
    if seen is None or access.on is None:
        return seen
    flat = flat.copy()
    flat[on] = seen
    return flat


def store(pointer, value, mask=None):
    access = Access(pointer, mask, "store")
    if access.late_mask is not None:
        raise Refused("a store whose mask depends on computed values: which lanes are written must be known while the kernel is "
                      "recorded. Load the old values, select with tl.where, and store all lanes")
    value = as_tensor(value)
    if isinstance(value.dtype, pointer_type):
        raise KernelTypeError("a pointer cannot be stored; cast it to an integer first")
    if value.shape != access.shape:
        value = broadcast_to(value, access.shape)
    value = cast(value, access.type)
    instance = current()
    instance.launch.count(access)
    if access.type.is_int():
        instance.launch.places.write(instance.ids, access)
        instance.own_writes.add(access.active().view(np.int64), access.type.itemsize, _stored_numbers(value, access))
    tile = tile_of(value)
    instance.stores += 1
    instance.core().store_at(access.addresses, tile, on=access.on)
    instance.launch.moved(*instance.tl.last_transfer())


def _stored_numbers(value, access):
    if not value.known:
        return None
    numbers = np.broadcast_to(np.asarray(value.data, access.type.numpy), access.shape).reshape(-1)
    return numbers if access.on is None else numbers[access.on != 0]


def atomic(name, pointer, value, mask=None):
    access = Access(pointer, mask, f"atomic_{name}")
    if access.late_mask is not None:
        raise Refused(f"atomic_{name} whose mask depends on computed values: which lanes take part must be known while the kernel "
                      "is recorded")
    value = as_tensor(value)
    value = cast(broadcast_to(value, access.shape), access.type)
    instance = current()
    instance.launch.count(access)
    if access.type.is_int():
        instance.launch.places.write((instance.ids, "atomic"), access)
    if access.type.is_floating() and name == "add":
        instance.launch.note(f"atomic_add of {access.type} at {line_text(kernel_line())}: programs add in the order of the simulation, "
                             "on which the last bits may depend")
    tile = tile_of(value)
    instance.stores += 1
    instance.core().atomic_at(name, access.addresses, tile, on=access.on)
    instance.launch.moved(*instance.tl.last_transfer())
    return AtomicResult(f"atomic_{name}")


# ── block pointers and descriptors ──

def _known_ints(values, what):
    numbers = []
    for value in values:
        value = as_tensor(value)
        if not value.known:
            raise KernelTypeError(f"{what} of a block pointer depends on computed values; addresses must be known")
        numbers.append(int(value.data))
    return tuple(numbers)


class BlockPointer:
    """A window of a tensor in memory, moved by `advance`."""

    def __init__(self, base, shape, strides, offsets, block_shape, order=None):
        if not isinstance(base, tensor) or not isinstance(base.dtype, pointer_type):
            raise KernelTypeError("make_block_ptr of something that is no pointer")
        self.base = base
        self.extents = _known_ints(shape, "the shape")
        self.strides = _known_ints(strides, "a stride")
        self.offsets = _known_ints(offsets, "an offset")
        self.block_shape = tuple(operator.index(getattr(n, "value", n)) for n in block_shape)
        if not len(self.extents) == len(self.strides) == len(self.offsets) == len(self.block_shape):
            raise KernelValueError("a block pointer has as many extents, strides and offsets as its block has axes")

    dtype = property(lambda self: self.base.dtype)
    type = dtype

    def advanced(self, by):
        by = _known_ints(by, "a step")
        if len(by) != len(self.offsets):
            raise KernelValueError(f"advance by {list(by)}: the block pointer has {len(self.offsets)} axes")
        offsets = tuple(o + b for o, b in zip(self.offsets, by))
        return BlockPointer(self.base, self.extents, self.strides, offsets, self.block_shape)

    def lanes(self, checked):
        """Pointers to all lanes, and which of them lie inside along the axes that are checked."""
        address = np.int64(0)
        inside = None
        rank = len(self.block_shape)
        for axis, extent in enumerate(self.block_shape):
            index = (self.offsets[axis] + np.arange(extent, dtype=np.int64)).reshape([-1 if a == axis else 1 for a in range(rank)])
            address = address + index * self.strides[axis]
            if axis in checked:
                within = (index >= 0) & (index < self.extents[axis])
                inside = within if inside is None else inside & within
        data = self.base.data + address * self.dtype.element_ty.itemsize
        data = np.broadcast_to(data, self.block_shape)
        mask = None
        if inside is not None and not inside.all():
            mask = tensor(types.int1, self.block_shape, np.broadcast_to(inside, self.block_shape))
        return tensor(self.dtype, self.block_shape, data), mask


def _checked(pointer, boundary_check):
    axes = tuple(operator.index(getattr(a, "value", a)) for a in (boundary_check or ()))
    for axis in axes:
        if not 0 <= axis < len(pointer.block_shape):
            raise KernelValueError(f"boundary_check names axis {axis} of a block of {len(pointer.block_shape)} axes")
    return axes


def load_block(pointer, boundary_check, padding_option):
    if padding_option not in ("", None, "zero", "nan"):
        raise KernelValueError(f"padding_option '{padding_option}': '', 'zero' and 'nan' are known")
    lanes, mask = pointer.lanes(_checked(pointer, boundary_check))
    return load(lanes, mask, float("nan") if padding_option == "nan" else None)


def store_block(pointer, value, boundary_check):
    lanes, mask = pointer.lanes(_checked(pointer, boundary_check))
    store(lanes, value, mask)


class TensorDescriptor:
    """A tensor in memory whose blocks are loaded and stored; what lies outside reads as zero and is not written."""

    def __init__(self, base, shape, strides, block_shape, padding_option="zero"):
        self.block = BlockPointer(base, shape, strides, [0] * len(shape), block_shape)
        self.shape = [as_tensor(n) for n in self.block.extents]
        self.strides = [as_tensor(n) for n in self.block.strides]
        self.block_shape = list(self.block.block_shape)
        self.padding = padding_option
        self.dtype = base.dtype.element_ty
        if self.block.strides[-1] != 1:
            raise KernelValueError("a tensor descriptor's last stride is 1")

    def _at(self, offsets):
        at = self.block.advanced(offsets)
        return at.lanes(range(len(at.block_shape)))

    def load(self, offsets):
        lanes, mask = self._at(offsets)
        return load(lanes, mask, float("nan") if self.padding == "nan" else None)

    def store(self, offsets, value):
        lanes, mask = self._at(offsets)
        store(lanes, as_tensor(value).reshape(self.block_shape), mask)

    def gather(self, rows, column):
        lanes, mask = self._rows(rows, column)
        return load(lanes, mask)

    def scatter(self, value, rows, column):
        lanes, mask = self._rows(rows, column)
        store(lanes, value, mask)

    def _rows(self, rows, column):
        rows = as_tensor(rows).data.astype(np.int64)
        cols = _known_ints([column], "a column")[0] + np.arange(self.block_shape[-1], dtype=np.int64)
        b = self.block
        inside = ((rows >= 0) & (rows < b.extents[0]))[:, None] & (cols < b.extents[1])[None, :]
        data = b.base.data + (rows[:, None] * b.strides[0] + cols[None, :] * b.strides[1]) * self.dtype.itemsize
        return tensor(b.dtype, data.shape, data), tensor(types.int1, data.shape, inside)

    def _atomic(self, offsets, value, name):
        lanes, mask = self._at(offsets)
        return atomic(name, lanes, value, mask)


for _name in "add max min and or xor".split():
    setattr(TensorDescriptor, f"atomic_{_name}", functools.partialmethod(TensorDescriptor._atomic, name=_name))


class Spans:
    """Where tensors lie: those of the launch, and all others of the context when somebody asks."""

    def __init__(self, tensors, find):
        self.known = [(t.ptr, t.ptr + t.nbytes, t.name) for t in tensors]
        self.find = find

    def holds(self, low, high):
        for begin, end, _ in self.known:
            if begin <= low and high <= end:
                return True
        found = self.find(low)
        if found is None:
            return False
        self.known.append(found)
        return found[0] <= low and high <= found[1]

    def nearest(self, address):
        if not self.known:
            return ""
        begin, end, name = min(self.known, key=lambda s: min(abs(address - s[0]), abs(address - s[1])))
        return f" (the nearest, '{name}', is {begin:#x} to {end:#x})"
