"""Tensors: on the host, or placed on a machine."""
import numpy as np

from .. import _core


class _Handle:
    """Where a tensor lies."""

    def __init__(self, tensor):
        self.shards = tensor.shards
        self.va_base = int(tensor.ptr)
        self.shape, self.dtype, self.name = tensor.shape, tensor.dtype, tensor.name

    def __repr__(self):
        return f"<{len(self.shards)} shards of '{self.name}'>"


def _to(tensor, device=None, **_):
    """Itself: it lies on the machine already, whatever the device is called."""
    try:
        dtype = None if device is None else _core.dtype_of(device)
    except (TypeError, ValueError):
        return tensor
    if dtype is None or dtype == tensor.dtype:
        return tensor
    raise TypeError(f"to({dtype}) of a tensor of {tensor.dtype}: it converts nothing; use copy_ into a tensor of that dtype")


for _name, _member in {"_handle": property(_Handle), "_host_buffer": property(lambda tensor: None), "to": _to,
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
