"""Collectives of one's own: registered by a decorator, or named in `ccl.yaml` by the import path of a module."""
import importlib
import inspect
import os
import pathlib
import sys

from . import _core
from ._errors import InputError
from ._kernels import call as call_kernel
from ._kernels import place_of_tl


def collective(name, *, topology, description="", collective="all_reduce", mapper="leader_only", validator="any",
               serves=("sip", "cube", "pe")):
    """Registers a kernel `fn(call, tl)` as an algorithm that `ccl.yaml` and the command line know by its name.

        @kb.collective("acme_allreduce", topology="ring_1d", description="ours")
        def acme_allreduce(call, tl): ...

    `call` tells it which tensor, which operation and where it stands among the others.
    """
    def register(fn):
        _core.add_collective(name, description or (fn.__doc__ or name).splitlines()[0], collective, topology, mapper, validator,
                             list(serves), fn, place_of_tl(fn))
        return fn

    return register


def collectives():
    """The names of all algorithms."""
    return _core.collective_names()


# ── modules named in ccl.yaml ──

def _importable(path, folder):
    """The module of that import path, also if it lies beside the ccl.yaml; None if there is none."""
    before = list(sys.path)
    sys.path.append(str(folder))
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name is not None and (path == error.name or path.startswith(error.name + ".")):
            return None
        raise
    finally:
        sys.path[:] = before


def function_at(path, folder="."):
    """The function of an import path `pkg.mod.fn`; None if there is none."""
    module, _, name = path.rpartition(".")
    return getattr(_importable(module, folder), name, None) if module else None


def value_of(text):
    """A value of a `ccl.yaml` entry: all of them are kept as texts, which are quoted where they would be read as something else."""
    value = _core.yaml_text("value: " + text, "ccl.yaml")["value"]
    try:
        return _core.yaml_text("value: " + value, "ccl.yaml")["value"] if isinstance(value, str) else value
    except InputError:
        return value


def arguments_of(module, *, n_elem, world_size, config):
    """The arguments of a module's kernel after the tensor: what its `kernel_args` gives, else by the names of its parameters."""
    known = {**config, "n_elem": n_elem, "world_size": world_size}
    make = getattr(module, "kernel_args", None)
    if make is not None:
        parameters = inspect.signature(make).parameters
        takes_all = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
        return tuple(make(**{key: value for key, value in known.items() if takes_all or key in parameters}))
    parameters = list(inspect.signature(module.kernel).parameters.values())[1:]
    wanted = [p for p in parameters if p.name != "tl" and (p.name in known or p.default is inspect.Parameter.empty)]
    missing = [p.name for p in wanted if p.name not in known]
    if missing:
        raise InputError("ccl.kernel-args", module.__name__, f"its kernel takes {', '.join(missing)}, which nothing gives",
                         "define kernel_args(*, n_elem, world_size, **kernel_config), a tuple of the arguments after the tensor")
    return tuple(known[p.name] for p in wanted)


def neighbors_of(module, rank, world_size, neighbor_map):
    """{direction: rank} by the module's own `neighbors`, or None if it has none."""
    own = getattr(module, "neighbors", None)
    if own is None:
        return None
    takes = len(inspect.signature(own).parameters)
    return own(*(rank, world_size, neighbor_map)[:takes])


def rewired(module, world_size, links):
    """The links [(rank, direction, rank)] of a module, or None for those of the topology."""
    if getattr(module, "neighbors", None) is None:
        return None
    maps = [{} for _ in range(world_size)]
    for rank, direction, peer in links:
        maps[rank][direction] = peer
    return [(rank, direction, peer) for rank in range(world_size)
            for direction, peer in neighbors_of(module, rank, world_size, maps[rank]).items()]


def _register_module(path):
    def kernel(call, tl):
        module = importlib.import_module(path)
        mine = tl.shard(call.input)
        n_elem = 1
        for extent in mine.shape:
            n_elem *= extent
        # Kernels look for their tile at the tensor plus rank times its bytes. Where ranks are PEs with a tensor each, it begins there.
        t, sips = call.input, call.sip_grid[0] * call.sip_grid[1]
        if mine.ptr == t and call.world_size > sips and tl.program_id(0) + tl.program_id(1) > 0:
            t = t - call.rank * n_elem * _core.dtype_of(mine.dtype).itemsize
        config = {key: value_of(text) for key, text in call.config.items()}
        call_kernel(module.kernel, tl, t, *arguments_of(module, n_elem=n_elem, world_size=call.world_size, config=config))

    module = importlib.import_module(path)
    _core.add_module(path, (inspect.getdoc(module) or path).splitlines()[0], kernel, place_of_tl(kernel),
                     lambda world_size, links: rewired(importlib.import_module(path), world_size, links))


def _spec_of(machine):
    return None if machine is None else machine.to_dict()


def _register_mapper(path, fn):
    _core.add_mapper(path, lambda machine: fn(_spec_of(machine), 0))


def _register_validator(path, fn):
    from .runtime_api.tensor import TensorHandle, TensorShard

    def check(machine, held, world_size):
        shards = [TensorShard(*pe, 0, elements, 0) for pe, elements in held]
        fn(TensorHandle("tensor", (sum(n for _, n in held),), "i8", shards), world_size, _spec_of(machine))

    _core.add_validator(path, check)


def import_named(file=None):
    """Imports what the entries of a `ccl.yaml` name by import path and registers it; without a file that of the current folder.
    Returns whether there was anything of that kind. What is wrong with the file, or cannot be imported, is reported when the file is read."""
    file = "ccl.yaml" if file in (None, "") else os.fspath(file)
    if file == "default" or not os.path.isfile(file):
        return False
    try:
        root = _core.yaml_file(file)
    except InputError:
        return False
    entries = root.get("algorithms") if isinstance(root, dict) else None
    folder = pathlib.Path(file).resolve().parent
    entries = entries.values() if isinstance(entries, dict) else ()
    return any([_import_entry(entry, folder) for entry in entries if isinstance(entry, dict)])


def _import_entry(entry, folder):
    path = entry.get("module")
    own = [entry.get(key) for key in ("module", "mapper", "validator")]
    if _is_path(path) and not path.startswith("kernbench.") and path not in _core.collective_names():
        module = _importable(path, folder)
        if module is not None and hasattr(module, "kernel"):
            _register_module(path)
    for key, names, register in (("mapper", _core.mapper_names, _register_mapper),
                                 ("validator", _core.validator_names, _register_validator)):
        path = entry.get(key)
        if _is_path(path) and path not in names():
            fn = function_at(path, folder)
            if fn is not None:
                register(path, fn)
    return any(_is_path(path) and not path.startswith("kernbench.") for path in own)


def _is_path(value):
    return isinstance(value, str) and "." in value
