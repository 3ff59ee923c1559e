"""`run_bench`: a host program in a fresh context."""
import dataclasses

from .._errors import InputError
from ..sim_engine.engine import Completion, GraphEngine
from .context import RuntimeContext
from .types import resolve_device


@dataclasses.dataclass
class BenchResult:
    completion: Completion
    traces: list
    engine: object

    @property
    def op_log(self):
        return self.engine.op_log


def _default_factory(topology, device):
    return GraphEngine(getattr(topology, "topology_obj", topology))


def run_bench(*, topology, bench_fn, device=None, engine_factory=None):
    """Runs `bench_fn(torch)` and completes what it submitted. What it raises leaves as it is."""
    device = resolve_device(device)
    engine = (engine_factory or _default_factory)(topology, device)
    context = RuntimeContext(engine=engine, target_device=device, correlation_id="bench", spec=engine.spec)
    with context:
        bench_fn(context)
    if not context.traces:
        raise InputError("runtime.nothing-submitted", "", "the host program submitted nothing, so there is nothing to measure",
                         "make a tensor, launch a kernel")
    return BenchResult(Completion(True), context.traces, engine)
