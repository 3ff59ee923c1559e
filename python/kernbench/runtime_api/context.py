"""`RuntimeContext`: the context of a host program, with the prototype's habits."""
import contextvars

import numpy as np

from .. import _core
from .._distributed import Distributed, Multiprocessing
from .._errors import SpawnException
from .._kernels import name_of, place_of_tl
from .._torch import Accelerator, Ahbm
from ..sim_engine.engine import GraphEngine
from .tensor import HostTensor
from .types import resolve_device

#: The context that the module functions of `kernbench.tp` use.
current_context = contextvars.ContextVar("kernbench_context", default=None)


class _Multiprocessing(Multiprocessing):
    """A failure in one rank, or of one kind, also has the class of what was raised."""

    def spawn(self, fn, args=(), nprocs=1, join=True, **ignored):
        try:
            super().spawn(fn, args, nprocs)
        except SpawnException as error:
            raise _also_as(error) from error.__cause__


def _also_as(error):
    kinds = {type(cause) for cause in error.errors.values()}
    if len(kinds) != 1 or issubclass(next(iter(kinds)), SpawnException):
        return error
    kind = kinds.pop()
    try:
        both = type(f"SpawnException({kind.__name__})", (SpawnException, kind), {"__init__": SpawnException.__init__})
        made = both(error.id, error.where, error.message, error.hint, str(error))
    except TypeError:  # two layouts that do not go together
        return error
    made.errors = error.errors
    return made


class RuntimeContext:
    """What `torch` is to a program of the prototype, over a GraphEngine. Used with `with`, or bare."""

    def __init__(self, *, engine, target_device=None, correlation_id="", spec=None):
        self.engine = engine
        self.correlation_id = correlation_id
        self.spec = spec if spec is not None else engine.spec
        self.target_device = resolve_device(target_device)
        self._torch = engine.torch()
        if self.target_device.text != "all":
            self._torch._select_devices(self.target_device.text)
        self._tokens = []

    # ── with ──

    def __enter__(self):
        self._tokens.append(current_context.set(self))
        return self

    def __exit__(self, kind, value, traceback):
        current_context.reset(self._tokens.pop())
        if kind is None:
            self._torch.synchronize()
        return False

    # ── tensors ──

    def empty(self, shape, dtype="f16", dp=None, name=""):
        return self._torch.empty(shape, dtype, dp, name or "")

    def zeros(self, shape, dtype="f16", dp=None, name=""):
        return self._torch.zeros(shape, dtype, dp, name or "")

    def ones(self, shape, dtype="f16", dp=None, name=""):
        return self._torch.full(shape, 1, dtype, dp, name or "")

    def full(self, shape, fill_value=0.0, dtype="f16", dp=None, name="", value=None):
        return self._torch.full(shape, fill_value if value is None else value, dtype, dp, name or "")

    def from_numpy(self, array, dp=None, name="", dtype=None):
        """With a policy a tensor on the machine, without one a host tensor."""
        if dp is None:
            return HostTensor(np.array(array), dtype, name or "")
        return self._torch.from_numpy(array, dp, name or "", dtype=dtype)

    def tensor(self, data, dtype=None, name=""):
        return HostTensor(np.array(data), dtype, name)

    # ── devices, ranks ──

    ahbm = property(lambda self: Ahbm(self._torch))
    accelerator = property(lambda self: Accelerator(self._torch))
    distributed = property(lambda self: Distributed(self._torch))
    multiprocessing = property(lambda self: _Multiprocessing(self._torch))

    # ── launches ──

    def launch(self, name, kernel, *args, grid=None, _defer_wait=False, **kwargs):
        """Runs a kernel on the SIPs of its tensors and waits; with `_defer_wait` gives [(handle, sip, meta)] at once."""
        sips = self._sips_of(args, kwargs)
        handles = [(self._launch_on(sip, name, kernel, args, kwargs, grid), sip, {"name": name, "sip": sip}) for sip in sips]
        if _defer_wait:
            return handles
        for handle, _, meta in handles:
            self.wait(handle, _meta=meta)
        return handles[0][0]

    def _sips_of(self, args, kwargs):
        if self._torch._inside_spawn():
            return [None]
        tensors = [a for a in (*args, *kwargs.values()) if isinstance(a, _core.Tensor)]
        return sorted({t.sip for t in tensors}) or [None]

    def _launch_on(self, sip, name, kernel, args, kwargs, grid):
        torch = self._torch
        before = torch._current_device()
        moves = sip is not None and not torch._ranks_are_pes() and sip != before
        if moves:
            torch._set_device(sip)
        try:
            return torch._launch(name or name_of(kernel), kernel, args, kwargs, place_of_tl(kernel), grid)
        finally:
            if moves:
                torch._set_device(before)

    def wait(self, handle, _meta=None):
        if isinstance(handle, (list, tuple)):
            for item in handle:
                self.wait(item[0] if isinstance(item, tuple) else item)
        else:
            self._torch.wait(handle)

    def synchronize(self):
        self._torch.synchronize()

    # ── queues ──

    def install_ipcq(self, *, algorithm=None, world_size_override=None, **ignored):
        """Installs the queues of an algorithm of the current folder's `ccl.yaml`; plain launches have them from then on."""
        from ..ccl.install import install_ipcq, load_ccl_config, resolve_algorithm_config
        cfg = resolve_algorithm_config(load_ccl_config(), algorithm)
        if world_size_override is not None:
            cfg["world_size"] = world_size_override
        return install_ipcq(self.engine, self.spec, cfg)

    # ── what happened ──

    @property
    def traces(self):
        return [_trace(t) for t in self._torch.traces]

    @property
    def op_log(self):
        return self._torch.log()

    @property
    def now(self):
        return self._torch.now_ns

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.__dict__["_torch"], name)


def _trace(trace):
    phase = "kernel" if trace.phase == "launch" else trace.phase
    return {"phase": phase, "name": trace.name, "sip": trace.sip, "total_ns": trace.total_ns, "pe_exec_ns": trace.pe_exec_ns,
            "network_ns": trace.network_ns, "queued_ns": trace.queued_ns}
