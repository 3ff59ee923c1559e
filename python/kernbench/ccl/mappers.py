"""Which PEs of a SIP take part in a collective: functions of (spec, rank) that give [(cube, pe), …]."""
from .. import _core
from .._collectives import function_at
from .install import machine_of


def leader_only(spec, rank):
    """PE 0 of cube 0."""
    return _core.mapper_picks("leader_only", machine_of(spec))


def all_pes(spec, rank):
    """Every PE of every cube."""
    return _core.mapper_picks("all_pes", machine_of(spec))


def pe0_per_cube(spec, rank):
    """PE 0 of every cube."""
    return _core.mapper_picks("pe0_per_cube", machine_of(spec))


MAPPER_REGISTRY = {"leader_only": leader_only, "all_pes": all_pes, "pe0_per_cube": pe0_per_cube}


def resolve_mapper(key_or_path):
    """A mapper by its name, or by an import path `pkg.mod.fn`."""
    found = MAPPER_REGISTRY.get(key_or_path) or function_at(key_or_path)
    if found is None:
        raise ValueError(f"unknown mapper: '{key_or_path}'")
    return found
