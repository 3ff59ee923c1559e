"""Between what every rank has and what each has a part of."""
from .. import _core
from .parallel_state import context_of


def copy_to_tp_region(x, torch=None):
    """Every rank has all of it already."""
    return x


def reduce_from_tp_region(x, torch=None):
    """The sum over the group, in place."""
    _core.tp_reduce(x, context_of(torch))
    return x


def scatter_to_tp_region(x, torch=None):
    """This rank's columns."""
    return _core.tp_scatter(x, context_of(torch))


def gather_from_tp_region(x, torch=None):
    """All columns, from all ranks of the group."""
    return _core.tp_gather(x, context_of(torch))


# Megatron's own names.
copy_to_tensor_model_parallel_region = copy_to_tp_region
reduce_from_tensor_model_parallel_region = reduce_from_tp_region
scatter_to_tensor_model_parallel_region = scatter_to_tp_region
gather_from_tensor_model_parallel_region = gather_from_tp_region
