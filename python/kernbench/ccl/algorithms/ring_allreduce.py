"""Everybody's tile goes round the ring; each rank forwards what it received and adds it up."""
from ._common import around, bytes_of, dtype_of, rank_of


def kernel_args(world_size, n_elem, **_):
    return n_elem, world_size


def kernel(t, n_elem, world_size, tl):
    mine = t + rank_of(tl) * n_elem * bytes_of(t)
    tl.store(mine, around(tl, tl.load(mine, (n_elem,), dtype_of(t)), n_elem, dtype_of(t), world_size, "E", "W"))
