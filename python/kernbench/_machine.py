"""Machines changed in code: as nested dicts."""
import json

from . import _core
from ._core import Machine


def to_dict(machine):
    """The machine as nested dicts, every parameter written out, to be changed and given to `from_dict`."""
    return _core.yaml_text(machine.to_yaml(), machine.source)


def from_dict(spec, overrides=None, name="<dict>"):
    """A machine from nested dicts, checked like a file."""
    return Machine.from_text(json.dumps(spec), overrides, name)


setattr(Machine, "to_dict", to_dict)
setattr(Machine, "from_dict", staticmethod(from_dict))
