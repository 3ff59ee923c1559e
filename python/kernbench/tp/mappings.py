"""Between what every rank has and what each has a part of."""
from .. import _core
from .parallel_state import (context_of, get_tensor_model_parallel_group, get_tensor_model_parallel_rank,
                             get_tensor_model_parallel_world_size)


def copy_to_tp_region(x, torch=None):
    """Every rank has all of it already."""
    return x


def reduce_from_tp_region(x, torch=None):
    """The sum over the group, in place."""
    torch = context_of(torch)
    if get_tensor_model_parallel_world_size() > 1:
        torch.distributed.all_reduce(x, op="sum", group=get_tensor_model_parallel_group(torch))
    return x


def scatter_to_tp_region(x, torch=None):
    """This rank's columns."""
    torch, ranks = context_of(torch), get_tensor_model_parallel_world_size()
    if x.shape[-1] % ranks:
        raise ValueError(f"the last axis ({x.shape[-1]}) must be divisible by TP world size ({ranks})")
    width = x.shape[-1] // ranks
    first = get_tensor_model_parallel_rank(torch) * width
    out = torch.zeros((*x.shape[:-1], width), dtype=x.dtype, name="tp_scattered")
    torch.launch("tp_scatter", _columns, x, out, _rows(x), x.shape[-1], width, first, str(x.dtype))
    return out


def gather_from_tp_region(x, torch=None):
    """All columns, from all ranks of the group."""
    torch, ranks = context_of(torch), get_tensor_model_parallel_world_size()
    if ranks == 1:
        return x
    width = x.shape[-1]
    out = torch.zeros((*x.shape[:-1], width * ranks), dtype=x.dtype, name="tp_gathered")
    torch.launch("tp_place", _place, x, out, _rows(x), width, width * ranks, get_tensor_model_parallel_rank(torch) * width, str(x.dtype))
    return reduce_from_tp_region(out, torch)


def _rows(x):
    rows = 1
    for extent in x.shape[:-1]:
        rows *= extent
    return rows


def _itemsize(dtype):
    return _core.dtype_of(dtype).itemsize


def _columns(x, out, rows, width, kept, first, dtype, tl):
    tl.store(out, tl.load(x + first * _itemsize(dtype), (rows, kept), dtype, strides=(width, 1)))


def _place(x, out, rows, width, whole, first, dtype, tl):
    tl.store(out + first * _itemsize(dtype), tl.load(x, (rows, width), dtype), strides=(whole, 1))


# Megatron's own names.
copy_to_tensor_model_parallel_region = copy_to_tp_region
reduce_from_tensor_model_parallel_region = reduce_from_tp_region
scatter_to_tensor_model_parallel_region = scatter_to_tp_region
gather_from_tensor_model_parallel_region = gather_from_tp_region
