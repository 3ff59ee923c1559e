"""Wirings by the prototype's names."""
import os
import warnings

from .. import _core
from .._collectives import rewired
from .._errors import InputError

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


class AlreadyInstalled(InputError, RuntimeError):
    """An engine has queues already."""


def _torch_of(engine):
    return engine.torch() if hasattr(engine, "sim_engine") or hasattr(engine, "topology_obj") else getattr(engine, "_torch", engine)


def kernel_config_of(cfg):
    """What a resolved entry says to its kernel: `n_elem`, `reduce_op`, `chunk_size`, and every key that begins with `kernel_`."""
    return {key: value for key, value in cfg.items() if key in ("n_elem", "reduce_op", "chunk_size") or key.startswith("kernel_")}


def wire(engine, cfg, topology, mapper, group, world_size=0, ranks=(), links=None):
    """Installs queues on an engine, once; plain launches on it have them from then on."""
    rules = [f"defaults.{key}={cfg[key]}" for key in _RULES if cfg.get(key) is not None]
    try:
        lanes, ends = _torch_of(engine)._install_wiring(topology, mapper, group, int(world_size or 0), rules, list(ranks), links)
    except InputError as error:
        if error.id == "ccl.installed":
            raise AlreadyInstalled(error.id, error.where, error.message, error.hint, str(error)) from None
        raise
    members = [tuple(pe) for lane in zip(*lanes) for pe in lane]
    rank_of = {pe: rank for rank, pe in enumerate(members)}
    table = {rank: {} for rank in range(len(members))}
    for pe, direction, peer in ends:
        table[rank_of[tuple(pe)]][direction] = rank_of[tuple(peer)]
    return {"world_size": len(members), "rank_to_pe": members, "neighbor_table": table,
            "buffer_kind": cfg.get("buffer_kind", "tcm")}


def install_ipcq(engine, spec=None, merged=None, *, algo_module=None, rank_to_pe=None):
    """Installs the queues of a resolved entry. Returns it, with `world_size`, `rank_to_pe`, `neighbor_table` and `buffer_kind`.

    The neighbours are those of `algo_module.neighbors` if it is given and has some, else the topology's; ranks are on the PEs
    of `rank_to_pe` (a list of (sip, cube, pe), a dict by rank, or a function of the rank) if it is given."""
    warnings.warn("install_ipcq() is deprecated; use dist.init_process_group()", DeprecationWarning, stacklevel=2)
    return install(engine, merged, algo_module=algo_module, rank_to_pe=rank_to_pe)


def install(engine, merged=None, *, algo_module=None, rank_to_pe=None):
    cfg = dict(merged if merged is not None else resolve_algorithm_config(load_ccl_config()))
    topology = cfg.get("topology", "ring_1d")
    if rank_to_pe is not None or getattr(algo_module, "neighbors", None) is not None:
        said = _install_links(engine, cfg, topology, algo_module, rank_to_pe)
    elif topology in _OF_CUBES:
        said = wire(engine, cfg, topology, cfg.get("mapper", "pe0_per_cube"), "cube")
    elif topology in ("intersip", "hierarchical_3level", "intracube_ring"):
        said = wire(engine, cfg, topology, cfg.get("mapper", "all_pes"), "sip")
    else:
        said = wire(engine, cfg, topology, "leader_only", "pe", cfg.get("world_size"))
    return {**cfg, **said}


def _install_links(engine, cfg, topology, algo_module, rank_to_pe):
    """Between ranks of one's own choice, or neighbours of one's own."""
    machine = _torch_of(engine).machine
    size = int(cfg.get("world_size") or (machine.total_pes if rank_to_pe is None or callable(rank_to_pe) else len(rank_to_pe)))
    if rank_to_pe is None:
        rank_to_pe = [linear_rank_to_pe(rank, machine) for rank in range(size)]
    elif callable(rank_to_pe):
        rank_to_pe = [rank_to_pe(rank) for rank in range(size)]
    ranks = [tuple(rank_to_pe[rank]) for rank in range(size)]
    links = _core.topology_links(topology, machine, size)
    own = rewired(algo_module, size, links) if algo_module is not None else None
    return wire(engine, cfg, f"{topology} of {getattr(algo_module, '__name__', 'ranks')}", "leader_only", "pe", 0, ranks,
                links if own is None else own)


def linear_rank_to_pe(rank, spec):
    """(sip, cube, pe) of the rank-th PE."""
    machine = machine_of(spec)
    pes, cubes = machine.pes, machine.cubes
    if not 0 <= rank < machine.total_pes:
        raise ValueError(f"rank {rank}: the machine has {machine.total_pes} PEs")
    return rank // (pes * cubes), rank // pes % cubes, rank % pes


def machine_of(spec):
    from ..topology.builder import topology_of
    if isinstance(spec, _core.Machine):
        return spec
    return topology_of(spec).machine()
