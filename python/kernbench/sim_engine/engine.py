"""`GraphEngine`: one simulated machine. The machine is built when the first context uses it."""
import dataclasses
import os

from .._torch import Torch
from ..topology.builder import topology_of


class _Env:
    """The clock."""

    def __init__(self, engine):
        self._engine = engine

    @property
    def now(self):
        """Simulated nanoseconds."""
        torch = self._engine._context
        return 0.0 if torch is None else torch.now_ns


@dataclasses.dataclass(frozen=True)
class Completion:
    """How a request ended."""

    ok: bool = True


class MemoryStore:
    """The bytes of all memories. What is read and written here takes no simulated time; launches under way are finished first.

    An address is virtual where a tensor that is alive lies, else physical."""

    def __init__(self, engine):
        self._engine = engine

    def write(self, space, addr, array):
        """Puts an array there, its elements one after the other. `space` is "hbm", "tcm" or "sram"."""
        self._engine.torch()._poke(space, int(addr), array)

    def read(self, space, addr, *, shape, dtype):
        """The array that lies there."""
        return self._engine.torch()._peek(space, int(addr), shape, dtype)


def trace_of(trace):
    """A request's trace as the dict that programs of the prototype look into."""
    phase = "kernel" if trace.phase == "launch" else trace.phase
    return {"phase": phase, "name": trace.name, "sip": trace.sip, "total_ns": trace.total_ns, "pe_exec_ns": trace.pe_exec_ns,
            "network_ns": trace.network_ns, "queued_ns": trace.queued_ns}


class GraphEngine:
    """One machine, and one context on it."""

    def __init__(self, topology_obj, enable_data=True, **options):
        self.topology_obj = topology_of(topology_obj)
        self.enable_data = enable_data
        self._options = options
        self._context = None
        self._env = _Env(self)
        self.memory_store = MemoryStore(self)

    @property
    def spec(self):
        return self.topology_obj.spec

    def torch(self):
        """The context, made on first use with the `ccl.yaml` of the current folder if there is one."""
        if self._context is None:
            self._context = Torch(self.topology_obj.machine(), data=self.enable_data, **self._options)
            if os.path.exists("ccl.yaml"):
                self._context.configure("ccl.yaml")
        return self._context

    @property
    def op_log(self):
        """Every operation so far."""
        return self.torch().log()

    @property
    def _results(self):
        """Completed requests by number: (completion, trace)."""
        traces = [] if self._context is None else self._context.traces
        return {number: (Completion(), trace_of(trace)) for number, trace in enumerate(traces)}

    def get_completion(self, handle):
        """The same of one request, which is waited for if it is not complete."""
        self.torch().wait(handle)
        return Completion(), trace_of(handle.trace)
