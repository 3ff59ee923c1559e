"""Everybody's tile goes round the ring; each rank forwards what it received and adds it up."""
from ._common import around, rank_of


def kernel(t, n_elem, world_size, tl):
    mine = t + rank_of(tl) * n_elem * 2
    tl.store(mine, around(tl, tl.load(mine, (n_elem,), "f16"), n_elem, "f16", world_size, "E", "W"))
