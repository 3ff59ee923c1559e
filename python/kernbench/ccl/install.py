"""Wirings by the prototype's names."""
import os

from .. import _core

#: What an entry of `ccl.yaml` says about queues.
_RULES = ("buffer_kind", "n_slots", "slot_size", "backpressure", "poll_ns", "credit_policy", "ipcq_credit_size_bytes")
#: Topologies whose members are cubes.
_OF_CUBES = ("intercube_intersip",)


def load_ccl_config(path=None):
    """A `ccl.yaml` as nested dicts: that file, the current folder's, or the one that ships."""
    if path is not None:
        return _core.yaml_file(os.fspath(path))
    return _core.yaml_file("ccl.yaml") if os.path.exists("ccl.yaml") else _core.default_ccl()


def resolve_algorithm_config(cfg, name=None):
    """The defaults, then what the entry says, and `algorithm`, its name."""
    defaults = dict(cfg.get("defaults") or {})
    name = name or defaults.get("algorithm")
    entries = cfg.get("algorithms") or {}
    if name not in entries:
        raise KeyError(f"ccl.yaml has no algorithm '{name}'; it has {', '.join(entries)}")
    return {**defaults, **(entries[name] or {}), "algorithm": name}


def _torch_of(engine):
    return engine.torch() if hasattr(engine, "sim_engine") or hasattr(engine, "topology_obj") else getattr(engine, "_torch", engine)


def wire(engine, cfg, topology, mapper, group, world_size=0):
    """Installs queues on an engine; plain launches on it have them from then on."""
    rules = [f"defaults.{key}={cfg[key]}" for key in _RULES if cfg.get(key) is not None]
    lanes = _torch_of(engine)._install_wiring(topology, mapper, group, int(world_size or 0), rules)
    ranks = [tuple(pe) for lane in zip(*lanes) for pe in lane]
    return {"world_size": len(ranks), "rank_to_pe": ranks}


def install_ipcq(engine, spec=None, cfg=None):
    """Installs the queues of a resolved entry. Returns it, with `world_size` and `rank_to_pe`."""
    cfg = dict(cfg if cfg is not None else resolve_algorithm_config(load_ccl_config()))
    topology = cfg.get("topology", "ring_1d")
    if topology in _OF_CUBES:
        said = wire(engine, cfg, topology, cfg.get("mapper", "pe0_per_cube"), "cube")
    elif topology in ("intersip", "hierarchical_3level", "intracube_ring"):
        said = wire(engine, cfg, topology, cfg.get("mapper", "all_pes"), "sip")
    else:
        said = wire(engine, cfg, topology, "leader_only", "pe", cfg.get("world_size"))
    return {**cfg, **said}


def linear_rank_to_pe(rank, spec):
    """(sip, cube, pe) of the rank-th PE."""
    machine = _machine_of(spec)
    pes, cubes = machine.pes, machine.cubes
    if not 0 <= rank < machine.total_pes:
        raise ValueError(f"rank {rank}: the machine has {machine.total_pes} PEs")
    return rank // (pes * cubes), rank // pes % cubes, rank % pes


def _machine_of(spec):
    from ..topology.builder import topology_of
    if isinstance(spec, _core.Machine):
        return spec
    return topology_of(spec).machine()
