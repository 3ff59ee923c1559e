"""The context of a host program: what `torch` is to a PyTorch program."""
import weakref

from . import _core
from . import nn as _nn
from ._collectives import import_named
from ._distributed import Distributed, Group, Multiprocessing
from ._kernels import name_of, place_of_tl
from ._log import OpLog


def machine_of(machine):
    """A Machine, or a shipped machine's name or a file."""
    return machine if isinstance(machine, _core.Machine) else _core.Machine(str(machine))


class Ahbm:
    """Devices: a device is a SIP, or a PE where ranks are PEs."""

    cubes = Group("cubes")  #: as the group of a collective: one member per cube of every SIP
    pes = Group("pes")  #: one member per PE that holds a shard

    def __init__(self, torch):
        self._torch = torch

    def set_device(self, rank):
        self._torch._set_device(rank)

    def current_device(self):
        """The one that was set in this rank or in the host program; None before that, and SIP 0 is used then."""
        return self._torch._current_device() if self._torch._device_was_set() else None

    def device_count(self):
        return self._torch._device_count()


class Accelerator:
    """The same by PyTorch's newer names."""

    def __init__(self, torch):
        self._torch = torch

    def set_device_index(self, index):
        self._torch._set_device(index)

    def current_device_index(self):
        return self._torch._current_device() if self._torch._device_was_set() else None

    def device_count(self):
        return self._torch._device_count()


_contexts: "weakref.WeakValueDictionary[int, Torch]" = weakref.WeakValueDictionary()  # of tensors that ask for theirs
setattr(_core.Tensor, "_torch", property(lambda self: _contexts[self._host_id]))


class Torch(_core.Torch):
    """One simulated machine and a host program's view of it.

    `machine` is a Machine, the name of one that ships, or a file. Used with `with`: leaving the block completes what was
    submitted. Tensors, handles and launches live as long as the block; traces and log can be looked at afterwards.
    """

    def __init__(self, machine="default", **options):
        super().__init__(machine_of(machine), **options)
        _contexts[self._host_id] = self
        if import_named():  # the context reads that file with what is registered now
            self._configure("", ())

    @property
    def spec(self):
        """The machine file as plain nested dicts, every parameter written out."""
        return self.machine.to_dict()

    # Made when they are used: a context that held them would only go with the garbage collector.
    ahbm = property(Ahbm)
    accelerator = property(Accelerator)
    distributed = property(Distributed)
    multiprocessing = property(Multiprocessing)

    @classmethod
    def _over(cls, core):
        """Over a context that C++ has made."""
        self = cls.__new__(cls)
        _core.Torch.__init__(self, core)
        _contexts[self._host_id] = self
        return self

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

    def launch_with_queues(self, name, kernel, *args, topology, mapper="all_pes", group=None, grid=None, **kwargs):
        """A launch whose kernels send and receive. `topology` says who is whose neighbour (`intracube_ring`, `ring_1d` …),
        `mapper` which PEs have queues, `group` whose members they join (`torch.ahbm.cubes` for `intercube_intersip`)."""
        return self._launch_with_queues(name, kernel, args, kwargs, place_of_tl(kernel), grid, topology, mapper, group)

    def empty_like(self, other, dtype=None, dp=None, name=""):
        """A tensor of the shape, dtype and placement of another one."""
        return self.empty(other.shape, dtype or other.dtype, dp if dp is not None else getattr(other, "dp", None), name)

    def zeros_like(self, other, dtype=None, dp=None, name=""):
        return self.zeros(other.shape, dtype or other.dtype, dp if dp is not None else getattr(other, "dp", None), name)

    def full_like(self, other, value, dtype=None, dp=None, name=""):
        return self.full(other.shape, value, dtype or other.dtype, dp if dp is not None else getattr(other, "dp", None), name)

    def ones(self, shape, dtype="f16", dp=None, name=""):
        return self.full(shape, 1, dtype, dp, name)

    def ones_like(self, other, dtype=None, dp=None, name=""):
        return self.full_like(other, 1, dtype, dp, name)

    def configure(self, ccl="default", overrides=()):
        """The `ccl.yaml` of this context: a file, or `default`. Before anything is submitted. Modules, mappers and validators that
        it names by import path are imported."""
        import_named(ccl)
        self._configure(str(ccl), overrides)

    # ── operations by torch's names ──

    nn = _nn
    matmul, add, mul = staticmethod(_nn.matmul), staticmethod(_nn.add), staticmethod(_nn.mul)
    relu, gelu, silu = staticmethod(_nn.relu), staticmethod(_nn.gelu), staticmethod(_nn.silu)
    softmax = staticmethod(_nn.softmax)

    # ── what happened so far ──

    def log(self):
        """The op log so far."""
        return OpLog(self._log())

    def summary(self):
        return self._log().summary()

    def critical_path(self):
        """Where the time went: by resource, by reason, by source line."""
        return self._log().critical_path()

    def energy(self):
        """What everything so far took in energy: an EnergyReport, or None if the machine file has no `energy` section."""
        return self._energy()

    def hash(self):
        """Over machine, programs and records: equal hashes mean equal runs."""
        return self._log().hash()

    def result(self):
        """Everything there is to say about the run so far: launches with their lower bounds, utilisation, critical path."""
        return self._result()

    def lower_bound_ns(self):
        """How fast the launches so far could have been at best, by other means than the simulation."""
        return self._result().lower_bound_ns

    def save_run(self, path):
        """Keeps everything the run did in a file, for `kernbench explain`, `trace`, `diff`, `report` and `web`: a SavedRun,
        which shows itself in a notebook. What was submitted is simulated first; of a program that fails, what it did before."""
        from ._errors import SimulationError
        from ._saved import SavedRun
        try:
            self.synchronize()
        except SimulationError:
            pass
        self._save(str(path))
        return SavedRun(path)

    save = save_run

    def hazards(self):
        """What the simulated hardware would not forgive."""
        return self._hazards()


def _stride(tensor, dim=None):
    """Row-major strides of the logical tensor, in elements."""
    strides = [1]
    for extent in tensor.shape[:0:-1]:
        strides.insert(0, strides[0] * extent)
    return tuple(strides[: len(tensor.shape)]) if dim is None else strides[dim]


setattr(_core.Tensor, "stride", _stride)

for _dtype in _core.dtypes():
    setattr(Torch, _dtype, _dtype)
for _alias, _name in {"float16": "f16", "half": "f16", "bfloat16": "bf16", "float32": "f32", "float": "f32", "int32": "i32",
                      "int8": "i8", "bool": "i1"}.items():
    setattr(Torch, _alias, getattr(Torch, _name))
