"""Who is whose neighbour: functions of (rank, world_size, spec) that give {direction: rank}."""
from .. import _core


def _neighbours(topology, rank, world_size, spec=None):
    from .install import machine_of
    if not 0 <= rank < world_size:
        raise ValueError(f"rank {rank} of {world_size}")
    machine = None if spec is None else machine_of(spec)
    return {direction: peer for own, direction, peer in _core.topology_links(topology, machine, world_size) if own == rank}


def ring_1d(rank, world_size, spec=None):
    """E: the next rank, W: the one before, round."""
    return _neighbours("ring_1d", rank, world_size)


def ring_1d_unidir(rank, world_size, spec=None):
    """E alone."""
    return _neighbours("ring_1d_unidir", rank, world_size)


def line_1d(rank, world_size, spec=None):
    """As ring_1d, with ends."""
    return _neighbours("line_1d", rank, world_size)


def torus_2d(rank, world_size, spec=None):
    """E, W, S and N in the grid nearest to a square, rows and columns closed to rings."""
    return _neighbours("torus_2d", rank, world_size)


mesh_2d = torus_2d


def mesh_2d_no_wrap(rank, world_size, spec=None):
    """The same, with ends."""
    return _neighbours("mesh_2d_no_wrap", rank, world_size)


def tree_binary(rank, world_size, spec=None):
    """parent, child_left and child_right."""
    return _neighbours("tree_binary", rank, world_size)


tree = tree_binary


def all_pairs(rank, world_size, spec=None):
    """Every rank with every other: rank0, rank1 …"""
    return _neighbours("all_pairs", rank, world_size)


def none(rank, world_size, spec=None):
    """No neighbours: the algorithm has its own."""
    return {}


def hierarchical_3level(rank, world_size, spec):
    """PEs of a cube, cubes of a SIP, and SIPs: ranks are the first PEs of the machine."""
    return _neighbours("hierarchical_3level", rank, world_size, spec)


TOPOLOGY_REGISTRY = {fn.__name__: fn for fn in (ring_1d, ring_1d_unidir, line_1d, torus_2d, mesh_2d_no_wrap, tree_binary, all_pairs,
                                                none, hierarchical_3level)}
TOPOLOGY_REGISTRY.update(mesh_2d=mesh_2d, tree=tree)


def _of_machine(name):
    def neighbours(rank, world_size, spec):
        return _neighbours(name, rank, world_size, spec)

    neighbours.__name__ = neighbours.__qualname__ = name
    neighbours.__doc__ = f"`{name}` between the first PEs of the machine."
    return neighbours


for _name in _core.topology_names():
    if _name not in TOPOLOGY_REGISTRY:
        TOPOLOGY_REGISTRY[_name] = globals()[_name] = _of_machine(_name)
