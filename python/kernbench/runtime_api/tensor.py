"""Tensors: on the host, or placed on a machine."""
import dataclasses

import numpy as np

from .. import _core


@dataclasses.dataclass(frozen=True)
class TensorShard:
    """A piece of a tensor in the memory of a PE."""

    sip: int
    cube: int
    pe: int
    pa: int             #: the physical address of its first byte
    nbytes: int
    offset_bytes: int   #: in the tensor


@dataclasses.dataclass(frozen=True)
class TensorHandle:
    """Where a tensor lies."""

    name: str
    shape: tuple
    dtype: str
    shards: list
    va_base: int = 0    #: its first virtual address; 0: it has none

    def __repr__(self):
        return f"<{len(self.shards)} shards of '{self.name}'>"


def _handle_of(tensor):
    shards = [TensorShard(s.sip, s.cube, s.pe, s.pa, s.nbytes, s.offset_bytes) for s in tensor.shards]
    return TensorHandle(tensor.name, tensor.shape, tensor.dtype, shards, int(tensor.ptr))


def deploy_tensor(*, name, shape, dtype, placement, allocators, mem_kind="hbm", va_allocator=None):
    """Takes memory for every shard of a placement from the allocators of their PEs: {(sip, cube, pe): PEMemAllocator}. Nothing is
    mapped: launches do that. Where a memory is full, nothing stays taken."""
    if mem_kind not in ("hbm", "tcm"):
        raise ValueError(f"mem_kind is 'hbm' or 'tcm', not '{mem_kind}'")
    taken, shards, va_base = [], [], 0
    try:
        for spec in placement:
            at = (spec.sip, spec.cube, spec.pe)
            if at not in allocators:
                raise ValueError(f"tensor '{name}' has a shard on sip{spec.sip}.cube{spec.cube}.pe{spec.pe}, for which there is no allocator")
            memory = allocators[at]
            address = getattr(memory, f"alloc_{mem_kind}")(spec.nbytes)
            taken.append((getattr(memory, f"free_{mem_kind}"), address, spec.nbytes))
            shards.append(TensorShard(*at, address.encode(), spec.nbytes, spec.offset_bytes))
        if va_allocator is not None:
            va_base = va_allocator.alloc(max(spec.offset_bytes + spec.nbytes for spec in placement))
    except Exception:
        for free, address, nbytes in taken:
            free(address, nbytes)
        raise
    return TensorHandle(name, tuple(shape), _core.dtype_of(dtype), shards, va_base)


def _to(tensor, device=None, dp_policy=None, **_):
    """Itself: it lies on the machine already, whatever the device is called."""
    if dp_policy is not None or isinstance(device, _core.DPPolicy):
        raise TypeError(f"to(dp_policy=…) of tensor '{tensor.name}': a tensor is placed when it is made, as in zeros(shape, dp=policy)")
    try:
        dtype = None if device is None else _core.dtype_of(device)
    except (TypeError, ValueError):
        return tensor
    if dtype is None or dtype == tensor.dtype:
        return tensor
    raise TypeError(f"to({dtype}) of a tensor of {tensor.dtype}: it converts nothing; use copy_ into a tensor of that dtype")


for _name, _member in {"_handle": property(_handle_of), "va": property(lambda tensor: int(tensor.ptr)),
                       "data": property(lambda tensor: tensor.numpy()), "_host_buffer": property(lambda tensor: None), "to": _to,
                       "cpu": lambda tensor: HostTensor(tensor.numpy(), tensor.dtype, tensor.name)}.items():
    setattr(_core.Tensor, _name, _member)


class _Meta(type):
    """Tensors of a machine are Tensors too."""

    def __instancecheck__(cls, instance):
        return type.__instancecheck__(cls, instance) or (cls is Tensor and isinstance(instance, _core.Tensor))


def _numpy_dtype(dtype):
    return _core.numpy_dtype(dtype)


class Tensor(metaclass=_Meta):
    """A tensor on the host: an array with torch's names. It has no placement and makes no request."""

    _is_tensor = True
    _handle = None

    def __init__(self, *, shape, dtype="f16", name="", data=None):
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.dtype = _core.dtype_of(dtype)
        self.name = name
        self._host_buffer = None if data is None else np.array(data, dtype=_numpy_dtype(self.dtype)).reshape(self.shape)

    def numpy(self):
        if self._host_buffer is None:
            self._host_buffer = np.zeros(self.shape, _numpy_dtype(self.dtype))
        return self._host_buffer

    #: What `numpy` gives.
    data = property(numpy)

    #: A host tensor has no virtual address.
    va = 0

    def to(self, device=None, dp_policy=None, **_):
        return _to(self, device, dp_policy)

    def copy_(self, source):
        """Takes over the values of another tensor or array of its shape, converted to its dtype."""
        array = source.numpy() if hasattr(source, "_is_tensor") else np.asarray(source)
        if tuple(array.shape) != self.shape:
            raise ValueError(f"copy_ shape mismatch: {tuple(array.shape)} into {self.shape}")
        self._host_buffer = np.array(array, dtype=_numpy_dtype(self.dtype))
        return self

    def fill_(self, value):
        self.numpy()[...] = value
        return self

    def zero_(self):
        return self.fill_(0)

    @property
    def nbytes(self):
        return self.numel() * self.itemsize

    @property
    def itemsize(self):
        return self.dtype.itemsize

    @property
    def ndim(self):
        return len(self.shape)

    def dim(self):
        return len(self.shape)

    def numel(self):
        return int(np.prod(self.shape, dtype=np.int64))

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[dim]

    def element_size(self):
        return self.itemsize

    def item(self):
        return self.numpy().item()

    def tolist(self):
        return self.numpy().tolist()

    def cpu(self):
        return self

    def reshape(self, *shape):
        array = self.numpy().reshape(*shape)
        return Tensor(shape=array.shape, dtype=self.dtype, name=self.name, data=array)

    def __array__(self, dtype=None):
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    def __getitem__(self, key):
        return self.numpy()[key]

    def __setitem__(self, key, value):
        self.numpy()[key] = value.numpy() if hasattr(value, "_is_tensor") else value

    def __len__(self):
        return len(self.numpy())

    def __repr__(self):
        return f"<host tensor '{self.name}' {self.dtype}{list(self.shape)}>"


def HostTensor(array, dtype=None, name=""):
    """A host tensor with the content of an array."""
    array = np.asarray(array)
    if dtype is None:
        dtype = {"float64": "f32", "int64": "i32"}.get(array.dtype.name, array.dtype)  # what torch would have made of a list
    return Tensor(shape=array.shape, dtype=dtype, name=name, data=array)
