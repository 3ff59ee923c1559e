"""KernBench: what would this kernel do on that machine?

    import numpy as np, kernbench as kb

    def scale(x, factor, tl):
        mine = tl.shard(x)
        tl.store(mine.ptr, tl.load(mine.ptr, mine.shape, mine.dtype) * factor)

    with kb.Torch("default") as torch:
        x = torch.from_numpy(np.ones((16, 1024), np.float16), dp=kb.DPPolicy(cube="row_wise"))
        torch.launch("scale", scale, x, 2.0)
        print(x.numpy())

docs/python.md is the guide.
"""
try:
    import numpy as _numpy
    from . import _core
except ImportError as _error:
    from ._interpreter import explain
    raise ImportError(explain(_error)) from _error
from ._core import (DPPolicy, Handle, Machine, Ptr, Shard, ShardSpec, Tensor, Tile, TlContext, Trace, __version__,
                    resolve_dp_policy, shipped_machines)
from ._errors import (AllocationError, Error, InputError, InternalError, Interrupted, IpcqDeadlock, KernelError, MmuFault,
                      NoData, RankStopped, SimulationError, SpawnException, TensorIndexError)
from ._bench import Options, bench, describe_bench, list_benches, run_bench
from ._core import BenchReport, BenchResult, CollectiveCall, CriticalPath, Hazard, Param, Summary, Work
from ._distributed import Group, ReduceOp
from ._functional import FunctionalResult, run_functional
from ._kernels import run_kernel
from ._log import OpLog
from ._collectives import collective, collectives
from ._probe import probe
from ._sweep import sweep
from ._saved import SavedRun, report, show
from ._torch import Torch
from . import _core, _machine, dtensor, nn

interleaved = DPPolicy.interleaved

for _dtype in _core.dtypes():
    globals()[_dtype] = _dtype


def __getattr__(name):
    # Imported when they are used: most programs have no Triton kernels and no parallel layers.
    if name in ("triton", "tp"):
        import importlib
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'kernbench' has no attribute '{name}'")
