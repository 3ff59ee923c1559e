"""`RuntimeContext`: the context of a host program, with the prototype's habits."""
import contextvars
import weakref

import numpy as np

from .. import _core
from .._distributed import Distributed, Multiprocessing
from .._kernels import name_of, place_of_tl
from .._torch import Accelerator, Ahbm
from ..sim_engine.engine import trace_of
from .tensor import HostTensor
from .types import resolve_device

#: The context that the module functions of `kernbench.tp` use.
current_context = contextvars.ContextVar("kernbench_context", default=None)


#: What is kept of a tensor whose memory `cleanup` gives back, so that it can still be read.
_KEPT_BYTES = 64 << 20


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
        self._tensors = weakref.WeakSet()

    # ── with ──

    def __enter__(self):
        self._tokens.append(current_context.set(self))
        return self

    def __exit__(self, kind, value, traceback):
        current_context.reset(self._tokens.pop())
        if kind is None:
            self._torch.synchronize()
            self.cleanup()
        return False

    def cleanup(self):
        """Gives back the memory of this context's tensors. What those of up to 64 MiB held can still be read. A second call does
        nothing."""
        tensors, self._tensors = list(self._tensors), weakref.WeakSet()
        for tensor in tensors:
            tensor._free(_KEPT_BYTES)

    # ── tensors ──

    def _made(self, tensor):
        self._tensors.add(tensor)
        return tensor

    def empty(self, shape, dtype="f16", dp=None, name="", mem="hbm"):
        return self._made(self._torch.empty(shape, dtype, dp, name or "", mem))

    def zeros(self, shape, dtype="f16", dp=None, name="", mem="hbm"):
        return self._made(self._torch.zeros(shape, dtype, dp, name or "", mem))

    def ones(self, shape, dtype="f16", dp=None, name="", mem="hbm"):
        return self._made(self._torch.full(shape, 1, dtype, dp, name or "", mem))

    def full(self, shape, fill_value=0.0, dtype="f16", dp=None, name="", value=None, mem="hbm"):
        return self._made(self._torch.full(shape, fill_value if value is None else value, dtype, dp, name or "", mem))

    def from_numpy(self, array, dp=None, name="", dtype=None, mem=None):
        """With a policy or a memory a tensor on the machine, without either a host tensor."""
        if dp is None and mem is None:
            return HostTensor(np.array(array), dtype, name or "")
        return self._made(self._torch.from_numpy(array, dp, name or "", dtype=dtype, mem=mem or "hbm"))

    def tensor(self, data, dtype=None, name=""):
        return HostTensor(np.array(data), dtype, name)

    # ── devices, ranks ──

    ahbm = property(lambda self: Ahbm(self._torch))
    accelerator = property(lambda self: Accelerator(self._torch))
    distributed = property(lambda self: Distributed(self._torch))
    multiprocessing = property(lambda self: Multiprocessing(self._torch))

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
        if sip is None or torch._ranks_are_pes():
            return torch._launch(name or name_of(kernel), kernel, args, kwargs, place_of_tl(kernel), grid)
        before = torch._on_device(torch._device_of_sip(sip))
        try:
            return torch._launch(name or name_of(kernel), kernel, args, kwargs, place_of_tl(kernel), grid)
        finally:
            torch._on_device(before)

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
        from ..ccl.install import install, load_ccl_config, resolve_algorithm_config
        cfg = resolve_algorithm_config(load_ccl_config(), algorithm)
        if world_size_override is not None:
            cfg["world_size"] = world_size_override
        return install(self.engine, cfg)

    # ── what happened ──

    @property
    def traces(self):
        return [trace_of(t) for t in self._torch.traces]

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
