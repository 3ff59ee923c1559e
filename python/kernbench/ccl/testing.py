"""The functional runner by the prototype's name."""
import numpy as np

from .._functional import run_functional
from .._kernels import call


def run_kernel_in_mock(*, kernel_fn, world_size, topology, inputs, kernel_args=()):
    """Runs `kernel_fn(t, *kernel_args, tl=tl)` on all ranks and returns what each left in its tensor.

    The ranks' tensors lie end to end: rank r's is at t + r · bytes. `tl.program_id(0)` is the rank.
    """
    inputs = [np.asarray(array) for array in inputs]

    def body(t, rank, world_size, tl):
        call(kernel_fn, tl, t - rank * inputs[rank].nbytes, *kernel_args)

    places = [(0, 0, rank) for rank in range(world_size)]
    return run_functional(body, world_size, topology, inputs, ranks=places).arrays
