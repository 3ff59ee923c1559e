"""The functional runner by the prototype's name."""
import numpy as np

from .. import _core
from .._collectives import rewired
from .._functional import run_functional
from .._kernels import call


def run_kernel_in_mock(*, kernel_fn, world_size, topology, inputs, kernel_args=(), algo_module=None, pes_per_cube=0):
    """Runs `kernel_fn(t, *kernel_args, tl=tl)` on all ranks and returns what each left in its tensor.

    The ranks' tensors lie end to end: rank r's is at t + r · bytes. `tl.program_id(0)` is the rank; with `pes_per_cube` it is the
    rank modulo that number, and `tl.program_id(1)` the rank divided by it. `algo_module.neighbors` is used instead of the topology.
    """
    inputs = [np.asarray(array) for array in inputs]

    def body(t, rank, world_size, tl):
        call(kernel_fn, tl, t - rank * inputs[rank].nbytes, *kernel_args)

    places = [(0, rank // pes_per_cube, rank % pes_per_cube) if pes_per_cube else (0, 0, rank) for rank in range(world_size)]
    if algo_module is not None and getattr(algo_module, "neighbors", None) is not None:
        topology = rewired(algo_module, world_size, _core.topology_links(topology, None, world_size))
    return run_functional(body, world_size, topology, inputs, ranks=places).arrays
