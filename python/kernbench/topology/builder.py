"""`resolve_topology`: a machine file as an object with its spec."""
import copy
import os

from .. import _core
from .._machine import from_dict


class Topology:
    """A machine file: `spec` is the file as plain nested dicts, and may be changed before a machine is made of it."""

    def __init__(self, spec, path=None):
        self.spec = spec
        self.path = path
        self._original = copy.deepcopy(spec)

    def machine(self):
        """The machine that the spec describes now."""
        if self.path is not None and self.spec == self._original:
            return _core.Machine(self.path)
        return from_dict(self.spec, None, self.path or "<spec>")


class ResolvedTopology:
    """What `resolve_topology` returns."""

    def __init__(self, topology_obj):
        self.topology_obj = topology_obj

    @property
    def spec(self):
        return self.topology_obj.spec


def resolve_topology(path=None):
    """The file of that name, a shipped machine by its name, or without a name the current folder's `topology.yaml`."""
    if path is None:
        path = "topology.yaml" if os.path.exists("topology.yaml") else "default"
    path = os.fspath(path)
    shipped = None if os.path.exists(path) else _core.shipped_yaml(path)
    if shipped is not None:
        return ResolvedTopology(Topology(_core.yaml_text(shipped, path), path))
    path = os.path.abspath(path)
    _core.Machine(path)  # what is wrong with it is said now
    return ResolvedTopology(Topology(_core.yaml_file(path), path))


def topology_of(value):
    """A Topology from what programs hold: one, the result of `resolve_topology`, a spec, or a file's name."""
    if isinstance(value, Topology):
        return value
    if isinstance(value, ResolvedTopology) or hasattr(value, "topology_obj"):
        return value.topology_obj
    if isinstance(value, dict):
        return Topology(value)
    return resolve_topology(value).topology_obj
