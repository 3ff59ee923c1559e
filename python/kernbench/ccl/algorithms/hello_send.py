"""Each rank sends its tile E and stores what comes from W."""
from ._common import bytes_of, dtype_of, rank_of


def kernel_args(world_size, n_elem, **_):
    return (n_elem,)


def kernel(t, n_elem, tl):
    mine = t + rank_of(tl) * n_elem * bytes_of(t)
    tl.send("E", tl.load(mine, (n_elem,), dtype_of(t)))
    tl.store(mine, tl.recv("W", (n_elem,), dtype_of(t)))
