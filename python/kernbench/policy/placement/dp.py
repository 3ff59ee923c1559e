"""Placement by the prototype's names."""
import dataclasses

from ... import _core
from ..._core import DPPolicy, ShardSpec


def resolve_dp_policy(policy, *, shape, itemsize, num_pe, num_cubes=1, target_sip=0, **unknown):
    """The pieces of a tensor, cube-major, then by PE."""
    if unknown:
        raise TypeError(f"resolve_dp_policy() got an unexpected keyword argument '{next(iter(unknown))}': "
                        "a policy spreads a tensor inside one SIP; which one is target_sip")
    return _core.resolve_dp_policy(policy, shape=shape, itemsize=itemsize, num_pe=num_pe, num_cubes=num_cubes, target_sip=target_sip)


@dataclasses.dataclass(frozen=True)
class LocalShard:
    """A piece of a tensor on a PE of one cube."""

    local_pe: int
    offset_bytes: int
    nbytes: int


def _of_one_cube(split, shape, itemsize, num_pe, tile=None):
    policy = DPPolicy(cube="replicate", pe=split, num_cubes=1, num_pes=num_pe, tile=tile)
    pieces = _core.resolve_dp_policy(policy, shape=shape, itemsize=itemsize, num_pe=num_pe, num_cubes=1, target_sip=0)
    return [LocalShard(p.pe, p.offset_bytes, p.nbytes) for p in pieces]


def column_wise(*, shape, itemsize, num_pe):
    return _of_one_cube("column_wise", shape, itemsize, num_pe)


def row_wise(*, shape, itemsize, num_pe):
    return _of_one_cube("row_wise", shape, itemsize, num_pe)


def replicate(*, shape, itemsize, num_pe):
    return _of_one_cube("replicate", shape, itemsize, num_pe)


def _dealt(split, shape, itemsize, num_pe, tile_m, tile_k):
    """Tiles in the order in which they are dealt: the first to PE 0, the second to PE 1 …"""
    hands = {}
    for piece in _of_one_cube(split, shape, itemsize, num_pe, (tile_m, tile_k)):
        hands.setdefault(piece.local_pe, []).append(piece)
    rounds = max(map(len, hands.values()), default=0)
    return [hands[pe][k] for k in range(rounds) for pe in sorted(hands) if k < len(hands[pe])]


def tiled_column_major(*, shape, itemsize, num_pe, tile_m, tile_k):
    return _dealt("tiled_column_major", shape, itemsize, num_pe, tile_m, tile_k)


def tiled_row_major(*, shape, itemsize, num_pe, tile_m, tile_k):
    return _dealt("tiled_row_major", shape, itemsize, num_pe, tile_m, tile_k)
