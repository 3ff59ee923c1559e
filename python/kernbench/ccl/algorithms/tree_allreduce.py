"""Reduces up a binary tree and broadcasts down."""
from ._common import bytes_of, dtype_of, rank_of


def kernel_args(world_size, n_elem, **_):
    return n_elem, world_size


def kernel(t, n_elem, world_size, tl):
    rank = rank_of(tl)
    mine = t + rank * n_elem * bytes_of(t)
    children = [name for name, child in (("child_left", 2 * rank + 1), ("child_right", 2 * rank + 2)) if child < world_size]
    acc = tl.load(mine, (n_elem,), dtype_of(t))
    for child in children:
        acc = acc + tl.recv(child, (n_elem,), dtype_of(t))
    if rank > 0:
        tl.send("parent", acc)
        acc = tl.recv("parent", (n_elem,), dtype_of(t))
    for child in children:
        tl.send(child, acc)
    tl.store(mine, acc)
