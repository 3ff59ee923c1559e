"""Each rank sends its tile E and stores what comes from W."""
from ._common import rank_of


def kernel(t, n_elem, tl):
    mine = t + rank_of(tl) * n_elem * 2
    tl.send("E", tl.load(mine, (n_elem,), "f16"))
    tl.store(mine, tl.recv("W", (n_elem,), "f16"))
