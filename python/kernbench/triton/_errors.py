"""Errors of a kernel: every one is a TritonError that names the line, the program and what is wrong."""

import difflib
import functools
import inspect
import os
import re
import traceback

import numpy as np

from .._errors import Interrupted, InternalError, SimulationError, SpawnException
from ._record import KernelAttributeError, KernelTypeError, TritonError, _is_own, line_text


_NOT_OF_KERNELS = (Interrupted, InternalError, MemoryError, SimulationError, SpawnException)
_UNEXPECTED = re.compile(r"^(\S+)\(\) got an unexpected keyword argument '(\w+)'")
_NO_KERNELS = (os.path.dirname(np.__file__), "<")


def meant(name, known):
    """`; did you mean 'arange'?`, if something is called so much alike."""
    close = difflib.get_close_matches(name, [n for n in known if not n.startswith("_")], 1, 0.66)
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
    message, hint, advice = _text(error).partition("\n  hint: ")
    line = _line(error)
    if line is not None and line not in message:
        message = f"{line}: {message}"
    return _renamed(error, f"{message} (program {', '.join(map(str, program))} of {kernel}){hint}{advice}")


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


def no_parameter(function, key, parameters):
    """What is said of a keyword that a function does not have."""
    return f"{function}() has no parameter '{key}'{meant(key, parameters)}; it has {', '.join(parameters)}"


def _parameters(function):
    return [name for name in inspect.signature(function).parameters if name != "self"]


def _binding_text(error, functions):
    """The text of a TypeError. If it is about an unknown keyword of one of these functions, it lists the parameters that there are."""
    found = _UNEXPECTED.match(str(error))
    for function in functions if found else ():
        if found[1] in (function.__qualname__, function.__name__):
            return no_parameter(function.__name__, found[2], _parameters(function))
    return str(error)


def checked_call(function):
    """The function, with a TritonError for arguments that it does not take."""
    @functools.wraps(function)
    def call(*args, **options):
        known = _parameters(function)
        for key in options:
            if key not in known:
                raise KernelTypeError(no_parameter(function.__name__, key, known))
        try:
            inspect.signature(function).bind(*args, **options)
        except TypeError as error:
            raise KernelTypeError(f"{function.__name__}(): {error}") from None
        return function(*args, **options)
    return call


def _text(error):
    if isinstance(error, TypeError) and not isinstance(error, TritonError):
        return _binding_text(error, _functions_at(error)) or type(error).__name__
    if isinstance(error, NameError) and getattr(error, "name", None):
        return f"'{error.name}' is not defined{meant(error.name, _names_at(error))}"
    if isinstance(error, AttributeError) and isinstance(getattr(error, "obj", None), (int, float)):
        return (f"a constant has no '{error.name}': {error.obj!r} is a plain number. A number that is assigned to a name is a "
                "scalar with a type")
    return str(error) or type(error).__name__


def _frames(error):
    return [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__) if not _is_own(frame.f_code.co_filename)]


def _functions_at(error):
    """The functions that the failing line can have meant: those of the language, and those its names stand for."""
    from . import language
    from ._jit import KernelInterface
    frames = _frames(error)
    named = [*frames[-1][0].f_locals.values(), *frames[-1][0].f_globals.values()] if frames else []
    known = [vars(owner).values() for owner in (language, language.math, language.tensor)]
    return [f for group in (*known, named) for f in group if inspect.isfunction(f) or isinstance(f, KernelInterface)]


def _names_at(error):
    frames = _frames(error)
    return [*frames[-1][0].f_locals, *frames[-1][0].f_globals] if frames else []


def _line(error):
    """The innermost line of the kernel or of a function of the user's that it calls."""
    frames = [(frame, line) for frame, line in _frames(error) if not frame.f_code.co_filename.startswith(_NO_KERNELS)]
    return line_text((frames[-1][0].f_code.co_filename, frames[-1][1])) if frames else None
