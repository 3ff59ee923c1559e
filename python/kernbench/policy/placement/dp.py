"""Placement by the prototype's names."""
import dataclasses
import math

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
    """Tiles in the order in which they are dealt: the first to PE 0, the second to PE 1 … Their offset is where they begin in
    the row-major tensor."""
    hands = {}
    for piece in _of_one_cube(split, shape, itemsize, num_pe, (tile_m, tile_k)):
        hands.setdefault(piece.local_pe, []).append(piece)
    rounds = max(map(len, hands.values()), default=0)
    dealt = [hands[pe][k] for k in range(rounds) for pe in sorted(hands) if k < len(hands[pe])]
    *rows, columns = shape
    tile_rows, tile_columns = math.prod(rows) // tile_m, columns // tile_k
    # Column-major counts along a row of tiles fastest, row-major down a column.
    order = ([(m, k) for m in range(tile_rows) for k in range(tile_columns)] if split == "tiled_column_major"
             else [(m, k) for k in range(tile_columns) for m in range(tile_rows)])
    return [dataclasses.replace(piece, offset_bytes=(m * tile_m * columns + k * tile_k) * itemsize)
            for piece, (m, k) in zip(dealt, order)]


def tiled_column_major(*, shape, itemsize, num_pe, tile_m, tile_k):
    return _dealt("tiled_column_major", shape, itemsize, num_pe, tile_m, tile_k)


def tiled_row_major(*, shape, itemsize, num_pe, tile_m, tile_k):
    return _dealt("tiled_row_major", shape, itemsize, num_pe, tile_m, tile_k)
