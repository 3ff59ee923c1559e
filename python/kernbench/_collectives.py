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

def _imported(path, folder, where):
    """The module of that import path, also if it lies beside the ccl.yaml; InputError if there is none."""
    before = list(sys.path)
    sys.path.append(str(folder))
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name is None or not (path + ".").startswith(error.name + "."):
            raise  # the module is there; what it imports is missing
        raise InputError("ccl.no-module", where, f"module '{path}' cannot be imported: {error}",
                         f"Python looks for modules on sys.path and in the folder of the ccl.yaml, {pathlib.Path(folder).resolve()}") from None
    finally:
        sys.path[:] = before


def _function_of(path, folder, where):
    """The function of an import path `pkg.mod.fn`; InputError if there is none."""
    place, _, name = path.rpartition(".")
    module = _imported(place, folder, where)
    found = getattr(module, name, None)
    if not callable(found):
        own = [n for n, value in vars(module).items() if inspect.isfunction(value) and not n.startswith("_")]
        raise InputError("ccl.no-function", where, f"module '{place}' has no function '{name}'",
                         f"its functions: {', '.join(own) or 'none'}")
    return found


def function_at(path, folder="."):
    """The function of an import path `pkg.mod.fn`; None if there is none."""
    try:
        return _function_of(path, folder, path) if _is_path(path) else None
    except InputError:
        return None


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
    Returns whether there was anything of that kind. InputError if a module or function cannot be imported; whatever else is wrong
    with the file is reported when C++ reads it."""
    file = "ccl.yaml" if file in (None, "") else os.fspath(file)
    if file == "default" or not os.path.isfile(file):
        return False
    try:
        root = _core.yaml_file(file)
    except InputError:
        return False
    entries = root.get("algorithms") if isinstance(root, dict) else None
    folder = pathlib.Path(file).resolve().parent
    entries = entries.items() if isinstance(entries, dict) else ()
    return any([_import_entry(entry, folder, f"{file}: algorithms.{name}") for name, entry in entries if isinstance(entry, dict)])


def _import_entry(entry, folder, where):
    path = entry.get("module")
    own = [entry.get(key) for key in ("module", "mapper", "validator")]
    if _is_path(path) and not path.startswith("kernbench.") and path not in _core.collective_names():
        if not callable(getattr(_imported(path, folder, f"{where}.module"), "kernel", None)):
            raise InputError("ccl.no-kernel", f"{where}.module", f"module '{path}' has no function 'kernel'",
                             "define kernel(t_ptr, *args, tl) in it")
        _register_module(path)
    for key, names, register in (("mapper", _core.mapper_names, _register_mapper),
                                 ("validator", _core.validator_names, _register_validator)):
        path = entry.get(key)
        if _is_path(path) and path not in names():
            register(path, _function_of(path, folder, f"{where}.{key}"))
    return any(_is_path(path) and not path.startswith("kernbench.") for path in own)


def _is_path(value):
    return isinstance(value, str) and "." in value
