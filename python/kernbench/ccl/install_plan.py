"""What an installation of queues brings to each SIP."""
import dataclasses
import json
from typing import Tuple

from .. import _core
from .install import kernel_config_of, machine_of


@dataclasses.dataclass(frozen=True)
class NeighborTableEntry:
    """One direction of a PE."""

    direction: str
    peer_direction: str  #: the name of the way back at the peer
    peer_sip: int
    peer_cube: int
    peer_pe: int
    rx_base_pa: int      #: the ring of this PE in which the peer's messages arrive


@dataclasses.dataclass(frozen=True)
class PeInstallSpec:
    """The queues of a PE."""

    cube: int
    pe: int
    neighbors: Tuple[NeighborTableEntry, ...]


@dataclasses.dataclass(frozen=True)
class SipInstallPlan:
    """What a SIP is told."""

    algorithm_name: str
    sip: int
    rank: int
    world_size: int
    pe_installs: Tuple[PeInstallSpec, ...]
    buffer_kind: str
    n_slots: int
    slot_size: int
    kernel_module: str
    participating_pes: Tuple[Tuple[int, int], ...]  #: (cube, pe)
    kernel_config: dict


def build_install_plans(*, world_size, algorithm, algorithm_config, spec):
    """A plan for each SIP that takes part, as `kernbench ccl plan -o` writes it. `algorithm_config` is a resolved entry of a
    `ccl.yaml`; its `world_size` (if it has one) makes ranks PEs, else `world_size` is the number of SIPs."""
    machine = machine_of(spec)
    entry = {key: value for key, value in algorithm_config.items() if key in _ENTRY_KEYS or key.startswith("kernel_")}
    by_pe = "world_size" in entry or world_size != machine.sips
    if by_pe:
        entry["world_size"] = world_size
    else:
        entry.pop("world_size", None)
    entry.setdefault("module", algorithm)
    plan = _core.collective_plan(machine, json.dumps({"algorithms": {algorithm: entry}}), algorithm)
    directions = {}  # by where messages go to: the way back
    for pe, _, ends in plan["pes"]:
        for direction, _, receives_from, _ in ends:
            directions[receives_from] = direction
    sips = {}
    for pe, rank, ends in plan["pes"]:
        entries = tuple(NeighborTableEntry(direction, directions.get(sends_to, ""), *peer, receives_from)
                        for direction, peer, receives_from, sends_to in ends)
        sips.setdefault(pe[0], []).append((rank, PeInstallSpec(pe[1], pe[2], entries)))
    return [SipInstallPlan(algorithm, sip, sip, plan["world_size"], tuple(spec for _, spec in pes), plan["buffer_kind"],
                           plan["n_slots"], plan["slot_size"], entry["module"], tuple((spec.cube, spec.pe) for _, spec in pes),
                           kernel_config_of(algorithm_config))
            for sip, pes in sorted(sips.items())]


_ENTRY_KEYS = ("module", "topology", "mapper", "validator", "n_elem", "world_size", "root_cube", "buffer_kind", "n_slots", "slot_size",
               "backpressure", "poll_ns", "credit_policy", "ipcq_credit_size_bytes", "reduce_op", "chunk_size")
