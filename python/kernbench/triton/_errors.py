"""Errors of a kernel: every one is a TritonError that names the line, the program and what is wrong."""

import difflib
import functools
import os
import traceback

import numpy as np

from .._errors import Interrupted, InternalError, SimulationError, SpawnException
from ._record import KernelAttributeError, TritonError, _is_own, line_text


_NOT_OF_KERNELS = (Interrupted, InternalError, MemoryError, SimulationError, SpawnException)
_NO_KERNELS = (os.path.dirname(np.__file__), "<")


def meant(name, known):
    """`; did you mean 'arange'?`, if something is called so much alike."""
    close = difflib.get_close_matches(name, [n for n in known if not n.startswith("_")], 1, 0.7)
    return f"; did you mean '{close[0]}'?" if close else ""


def missing(owner, name, known):
    """For a module's __getattr__."""
    return KernelAttributeError(f"{owner} has no '{name}'{meant(name, known)}")


@functools.lru_cache(maxsize=None)
def _triton_class(kind):
    """A TritonError that is also of that class, so that an `except` of that class catches it."""
    if issubclass(kind, TritonError):
        return kind
    return type(kind.__name__, (TritonError, kind), {"__module__": kind.__module__, "__init__": lambda self, *args: None})


def in_kernel(error, kernel, program):
    """The error as it leaves a program: with its line, unless it says it, and the program.

    What is no fault of the kernel passes unchanged: an earlier launch that failed when its result was asked for, an interrupt.
    """
    if isinstance(error, _NOT_OF_KERNELS):
        return error
    text = _text(error)
    line = _line(error)
    if line is not None and line not in text:
        text = f"{line}: {text}"
    return _renamed(error, f"{text} (program {', '.join(map(str, program))} of {kernel})")


def at_launch(error, kernel, what=""):
    """The error of a function that a launch calls: a grid, a heuristic, a schedule."""
    text = f"no argument or meta-parameter is called {error}" if isinstance(error, KeyError) else str(error)
    return _renamed(error, f"{kernel}: {what}{text}")


def _renamed(error, text):
    try:
        made = _triton_class(type(error))(text)
    except TypeError:  # a class that cannot be had together with another one
        made = TritonError(text)
    made.__dict__.update(error.__dict__)
    made.args = (text,)
    return made.with_traceback(error.__traceback__)


def _text(error):
    if isinstance(error, NameError) and getattr(error, "name", None):
        return f"'{error.name}' is not defined{meant(error.name, _names_at(error))}"
    if isinstance(error, AttributeError) and isinstance(getattr(error, "obj", None), (int, float)):
        return (f"a constant has no '{error.name}': {error.obj!r} is a plain number. A number that is assigned to a name is a "
                "scalar with a type")
    return str(error) or type(error).__name__


def _frames(error):
    return [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__) if not _is_own(frame.f_code.co_filename)]


def _names_at(error):
    frames = _frames(error)
    return [*frames[-1][0].f_locals, *frames[-1][0].f_globals] if frames else []


def _line(error):
    """The innermost line of the kernel or of a function of the user's that it calls."""
    frames = [(frame, line) for frame, line in _frames(error) if not frame.f_code.co_filename.startswith(_NO_KERNELS)]
    return line_text((frames[-1][0].f_code.co_filename, frames[-1][1])) if frames else None
