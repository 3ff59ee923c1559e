"""Collectives of one's own."""
from . import _core
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
