"""Errors. The texts come from C++: the place, what is wrong, what to do about it."""


class Error(Exception):
    """Everything KernBench raises of its own."""

    def __init__(self, id="", where="", message="", hint="", text=None):
        said = ": ".join(part for part in (where, message) if part) or id
        super().__init__(text if text is not None else said + (f"\n  hint: {hint}" if hint else ""))
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


class SpawnException(Error, RuntimeError):
    """Ranks have failed; those that did not were stopped."""

    errors: dict = {}  #: what went wrong first, {rank: exception}, with tracebacks


_SHOWN = 8


def spawn_text(errors):
    """What a SpawnException says: which ranks raised what. Ranks that raised the same are named together."""
    alike = {}
    for rank, error in sorted(errors.items()):
        said = f"{type(error).__name__}: {error}" if isinstance(error, Error) else repr(error)
        alike.setdefault(said, []).append(rank)
    parts = [f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))} raised {said}" for said, ranks in alike.items()]
    more = [f"… and {len(parts) - _SHOWN} other failures"] if len(parts) > _SHOWN else []
    return f"spawn failed on ranks {sorted(errors)}: " + "; ".join(parts[:_SHOWN] + more)


def warn(text):
    """A warning at the line that called into this package."""
    import pathlib
    import sys
    import warnings
    package, frame, depth = str(pathlib.Path(__file__).parent), sys._getframe(1), 2
    while frame is not None and frame.f_code.co_filename.startswith(package):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(text, stacklevel=depth)


class Interrupted(Error):
    """The run was stopped from outside."""


def show_traceback(value, traceback):
    """Prints what a host program raised, as the interpreter would."""
    import sys
    import traceback as printer
    printer.print_exception(type(value), value, traceback, file=sys.stderr)


class RankStopped(BaseException):
    """Raised in a rank that is to end because another one has failed. Not an Exception, so that nobody swallows it."""
