"""Errors. The texts come from C++: the place, what is wrong, what to do about it."""


class Error(Exception):
    """Everything KernBench raises of its own."""

    def __init__(self, id="", where="", message="", hint="", text=None):
        super().__init__(text if text is not None else ": ".join(part for part in (where, message) if part) or id)
        self.id = id            #: stable slug: "topology.unknown-key"
        self.where = where      #: `file:line:column`, a tensor, `sip0.cube5.pe3`; may be empty
        self.message = message  #: what is wrong, and what was expected
        self.hint = hint        #: what to do; may be empty


class InputError(Error, ValueError):
    """A file, option or call that cannot be accepted."""


class SimulationError(Error, RuntimeError):
    """The simulated program or machine failed: deadlock, fault, exhausted memory."""


class InternalError(Error):
    """A broken promise of KernBench's own."""


class KernelError(InputError):
    """A call in a kernel that cannot be recorded. `where` names kernel, PE and line."""

    @property
    def line(self):
        """The line of the kernel's file, or None."""
        tail = self.where.rsplit(":", 1)[-1]
        return int(tail) if tail.isdigit() else None


class TensorIndexError(InputError, IndexError):
    """An index or slice that a tensor does not have."""


class NoData(InputError):
    """With data off: the values were computed, or are of a large tensor, and so are not known."""


class AllocationError(SimulationError):
    """A memory or the virtual space is full."""


class MmuFault(SimulationError):
    """A PE used a virtual address that its MMU does not map."""


class IpcqDeadlock(SimulationError):
    """Programs wait for each other's messages and credits, with nothing left that could happen."""

    blocked: list = []  #: ((sip, cube, pe), what it waits for) for each PE that cannot go on


class SpawnException(Error):
    """Ranks have failed; those that did not were stopped."""

    errors: dict = {}  #: what went wrong first, {rank: exception}, with tracebacks


class Interrupted(Error):
    """The run was stopped from outside."""


def show_traceback(value, traceback):
    """Prints what a host program raised, as the interpreter would."""
    import sys
    import traceback as printer
    printer.print_exception(type(value), value, traceback, file=sys.stderr)


class RankStopped(BaseException):
    """Raised in a rank that is to end because another one has failed. Not an Exception, so that nobody swallows it."""
