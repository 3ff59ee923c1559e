"""The context of a host program: what `torch` is to a PyTorch program."""
from . import _core
from ._kernels import name_of, place_of_tl


def machine_of(machine):
    """A Machine, or a shipped machine's name or a file."""
    return machine if isinstance(machine, _core.Machine) else _core.Machine(str(machine))


class Ahbm:
    """Devices: a device is a SIP, or a PE where ranks are PEs."""

    def __init__(self, torch):
        self._torch = torch

    def set_device(self, rank):
        self._torch._set_device(rank)

    def current_device(self):
        return self._torch._current_device()

    def device_count(self):
        return self._torch._device_count()


class Accelerator:
    """The same by PyTorch's newer names."""

    def __init__(self, torch):
        self._torch = torch

    def set_device_index(self, index):
        self._torch._set_device(index)

    def current_device_index(self):
        return self._torch._current_device()

    def device_count(self):
        return self._torch._device_count()


class Torch(_core.Torch):
    """One simulated machine and a host program's view of it.

    `machine` is a Machine, the name of one that ships, or a file. Used with `with`: leaving the block completes what was
    submitted. Tensors, handles and launches live as long as the block; traces and log can be looked at afterwards.
    """

    def __init__(self, machine="default", **options):
        super().__init__(machine_of(machine), **options)
        self.ahbm = Ahbm(self)
        self.accelerator = Accelerator(self)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        if kind is None:
            self.close()
        else:
            self._stop()
        return False

    def launch(self, name, kernel=None, *args, grid=None, **kwargs):
        """Runs `kernel(*args, tl=tl)` on the PEs that hold a shard of some tensor argument, or on `grid=(PEs, cubes)`.

        Tensor arguments become pointers, all others are passed on unchanged. The name may be left out.
        """
        if callable(name):
            args, kernel, name = (() if kernel is None else (kernel,)) + args, name, name_of(name)
        return self._launch(name, kernel, args, kwargs, place_of_tl(kernel), grid)


for _dtype in _core.dtypes():
    setattr(Torch, _dtype, _dtype)
for _alias, _name in {"float16": "f16", "half": "f16", "bfloat16": "bf16", "float32": "f32", "float": "f32", "int32": "i32",
                      "int8": "i8", "bool": "i1"}.items():
    setattr(Torch, _alias, getattr(Torch, _name))
