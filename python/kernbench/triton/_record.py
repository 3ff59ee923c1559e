"""What a running kernel instance records into: one per thread, set by a launch."""

import functools
import os
import sys
import threading

from .. import _core

_HERE = os.path.dirname(os.path.abspath(__file__))
_local = threading.local()


class TritonError(Exception):
    """Marks errors of this front end; each is also of a class a Python programmer expects."""

    def __str__(self):
        return str(self.args[0]) if self.args else ""


class Refused(TritonError, NotImplementedError):
    """Something that Triton has and this machine has not, with the reason."""


class KernelTypeError(TritonError, TypeError):
    """A kernel used a value in a way that cannot be recorded."""


class KernelValueError(TritonError, ValueError):
    """A kernel was given or computed a value that cannot be."""


class KernelRuntimeError(TritonError, RuntimeError):
    """The language was used where no kernel runs."""


class KernelAttributeError(TritonError, AttributeError):
    """A name that the language or a value has not."""


def current():
    """The instance that runs in this thread. KernelRuntimeError outside a launch."""
    instance = getattr(_local, "instance", None)
    if instance is None:
        raise KernelRuntimeError("functions of triton.language work inside a @triton.jit kernel: launch it as kernel[grid](...)")
    return instance


def running():
    return getattr(_local, "instance", None)


def kernel_frame():
    """The innermost frame that is not of this package: a line of the kernel."""
    frame = sys._getframe(1)
    while frame is not None and _is_own(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


@functools.lru_cache(maxsize=None)
def _is_own(file):
    return file.startswith(_HERE)


def kernel_line():
    frame = kernel_frame()
    if frame is None:
        return "?", 0
    return frame.f_code.co_filename, frame.f_lineno


@functools.lru_cache(maxsize=4096)
def line_text(line):
    return f"{os.path.basename(line[0])}:{line[1]}"


class Instance:
    """One program of the grid, while its kernel runs."""

    def __init__(self, launch, tl, ids, own_writes):
        self.launch = launch
        self.tl = tl
        self.ids = ids
        self.pinned = None
        self.own_writes = own_writes
        self.stores = 0  # of the program so far, atomics included
        self.by_element = False  # a function of scalars runs on whole blocks

    def core(self):
        """The kernel language's context; what is recorded next counts for the kernel's line."""
        line = kernel_line()
        if line != self.pinned:
            self.tl.set_line(*line)
            self.pinned = line
        return self.tl

    def elementwise(self, function, *values):
        """Calls a function of scalars on whole blocks: what it does to one element it does to all."""
        before, self.by_element = self.by_element, True
        try:
            return function(*values)
        finally:
            self.by_element = before

    def __enter__(self):
        self.before = running()
        _local.instance = self
        return self

    def __exit__(self, *error):
        _local.instance = self.before


class Places:
    """Which bytes the programs of a launch read as integers and which they write: such a value must not be another's."""

    def __init__(self):
        self.programs = {}  # program → its number
        self.accesses = []  # (program, line), by number
        self.steering, self.written = _core.ByteOwners(), _core.ByteOwners()

    def read(self, program, access):
        writer = self._enter(program, access, self.steering, self.written)
        if writer is not None:
            self._refuse((program, kernel_line()), writer)

    def write(self, program, access):
        reader = self._enter(program, access, self.written, self.steering)
        if reader is not None:
            self._refuse(reader, (program, kernel_line()))

    def _enter(self, program, access, owners, others):
        """Remembers the access; returns one of another program to the same bytes, if there is one."""
        number = self.programs.setdefault(program, len(self.programs))
        lanes = access.addresses, access.on, access.type.itemsize
        found = others.other(*lanes, number)
        owners.add(*lanes, number, len(self.accesses))
        self.accesses.append((program, kernel_line()))
        return None if found is None else self.accesses[found]

    def _refuse(self, read, write):
        (reader, loads), (writer, stores) = read, write
        raise KernelValueError(
            f"the integers that program {_program_text(reader)} loads at {line_text(loads)} are written by program "
            f"{_program_text(writer)} of the same launch at {line_text(stores)}: programs of a launch are in no order, so the value "
            "is not known. Write them in a launch of their own before this one")


def _program_text(program):
    return ", ".join(map(str, program[0] if program[-1] == "atomic" else program))
