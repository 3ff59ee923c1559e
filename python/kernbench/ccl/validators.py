"""Which layout of tensors an algorithm needs: functions of (handle, world_size, spec) that raise a ValueError which says what is wrong."""
from collections import Counter

from .._collectives import function_at
from .install import machine_of


def single_shard_per_rank(handle, world_size, spec):
    """A shard for each rank, one on each SIP."""
    if len(handle.shards) != world_size:
        raise ValueError(f"single_shard_per_rank: {len(handle.shards)} shards for {world_size} ranks")
    for sip, count in Counter(shard.sip for shard in handle.shards).items():
        if count > 1:
            raise ValueError(f"single_shard_per_rank: sip{sip} holds {count} shards, and must hold one")


def multi_pe_sip_local(handle, world_size, spec):
    """Every PE of every SIP holds one shard."""
    machine = machine_of(spec)
    held = Counter((shard.sip, shard.cube, shard.pe) for shard in handle.shards)
    for sip in range(world_size):
        for cube in range(machine.cubes):
            for pe in range(machine.pes):
                if held[sip, cube, pe] != 1:
                    raise ValueError(f"multi_pe_sip_local: sip{sip}.cube{cube}.pe{pe} holds {held[sip, cube, pe]} shards, and must hold one")


VALIDATOR_REGISTRY = {"single_shard_per_rank": single_shard_per_rank, "multi_pe_sip_local": multi_pe_sip_local}


def resolve_validator(key_or_path):
    """A validator by its name, or by an import path `pkg.mod.fn`."""
    found = VALIDATOR_REGISTRY.get(key_or_path) or function_at(key_or_path)
    if found is None:
        raise ValueError(f"unknown validator: '{key_or_path}'")
    return found
