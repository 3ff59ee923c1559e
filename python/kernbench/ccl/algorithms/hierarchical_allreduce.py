"""PEs of a cube to PE 0 from both sides, PE 0 of the cubes to the leader of the SIP, leaders round a ring, and back the same way."""
from ... import _core
from ._common import around, back, bytes_of, dtype_of, rank_of, toward
from .mesh_allreduce import grid_of

_machine = None


def kernel_args(world_size, n_elem, kernel_cube_w=0, **_):
    return n_elem, world_size, kernel_cube_w


def neighbors(rank, world_size, neighbor_map=None):
    """Those of the topology; without one those of the first PEs of the default machine."""
    global _machine
    if neighbor_map:
        return neighbor_map
    _machine = _machine or _core.Machine("default")
    return {direction: peer for own, direction, peer in _core.topology_links("hierarchical_3level", _machine, world_size) if own == rank}


def kernel(t, n_elem, world_size, cube_w=0, *, tl):
    """The cubes of a SIP stand in rows of `cube_w`; 0: in the grid nearest to a square."""
    dtype, mine = dtype_of(t), t + rank_of(tl) * n_elem * bytes_of(t)
    pe, pes, cube, cubes = tl.program_id(0), tl.num_programs(0), tl.program_id(1), tl.num_programs(1)
    sips = max(1, world_size // (pes * cubes))
    width = cube_w or grid_of(cubes)[0]
    x, y = cube % width, cube // width
    row = (x, min(width, cubes - y * width), 0, "cube_W", "cube_E")
    column = (y, -(-cubes // width), 0, "cube_N", "cube_S")
    acc = _to_pe0(tl, tl.load(mine, (n_elem,), dtype), n_elem, dtype, pe, pes)
    if pe == 0:
        acc = toward(tl, acc, n_elem, dtype, *row)
        if x == 0:
            acc = toward(tl, acc, n_elem, dtype, *column)
            if cube == 0:
                acc = around(tl, acc, n_elem, dtype, sips, "global_E", "global_W")
            acc = back(tl, acc, n_elem, dtype, *column)
        acc = back(tl, acc, n_elem, dtype, *row)
    tl.store(mine, _from_pe0(tl, acc, n_elem, dtype, pe, pes))


def _to_pe0(tl, acc, n_elem, dtype, pe, pes):
    """Round a ring of PEs: the first half of them reduces westward, the others eastward, and PE 0 adds up both."""
    last = pes // 2  # of those that go west
    if 0 < pe <= last:
        acc = acc + tl.recv("E", (n_elem,), dtype) if pe < last else acc
        tl.send("W", acc)
    elif pe > last:
        acc = acc + tl.recv("W", (n_elem,), dtype) if pe > last + 1 else acc
        tl.send("E", acc)
    else:
        acc = acc + tl.recv("E", (n_elem,), dtype) if last > 0 else acc
        acc = acc + tl.recv("W", (n_elem,), dtype) if last + 1 < pes else acc
    return acc


def _from_pe0(tl, acc, n_elem, dtype, pe, pes):
    last = pes // 2
    if 0 < pe <= last:
        acc = tl.recv("W", (n_elem,), dtype)
        if pe < last:
            tl.send("E", acc)
    elif pe > last:
        acc = tl.recv("E", (n_elem,), dtype)
        if pe > last + 1:
            tl.send("W", acc)
    else:
        if last > 0:
            tl.send("E", acc)
        if last + 1 < pes:
            tl.send("W", acc)
    return acc
