"""`GraphEngine`: one simulated machine. The machine is built when the first context uses it."""
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


class _Results(dict):
    """Completed requests by number, as traces."""


class GraphEngine:
    """One machine, and one context on it."""

    def __init__(self, topology_obj, enable_data=True, **options):
        self.topology_obj = topology_of(topology_obj)
        self.enable_data = enable_data
        self._options = options
        self._context = None
        self._env = _Env(self)

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
        traces = [] if self._context is None else self._context.traces
        return _Results(enumerate(traces))
