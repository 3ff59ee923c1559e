"""Loops of a kernel that can never end: their condition depends on nothing that changes.

A kernel is recorded before it runs, so what it loads stays what it was when the launch began, and `while tl.load(flag) == 0: pass`
would be recorded for ever. The names on which a loop's condition, and its ways out, depend are found in the syntax tree; when a
turn changes none of them and stores nothing, the next turn is the same, and so are all others.
"""

import ast
import types

import numpy as np

from ._record import Refused, current, kernel_line, line_text
from ._tensor import tensor


def _names(node, context):
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, context)}


def _leaves(node):
    return any(isinstance(n, (ast.Break, ast.Return)) for n in ast.walk(node))


def names_that_steer(loop):
    """The names on which it depends whether the loop goes on, those on which these depend included."""
    names = _names(loop.test, ast.Load)
    assignments = []  # (names that are bound, names they depend on)
    _collect(loop.body, set(), names, assignments)
    before = -1
    while len(names) != before:
        before = len(names)
        for bound, read in assignments:
            if bound & names:
                names |= read
    return names


def _collect(statements, conditions, names, assignments):
    """Assignments below `conditions`, the names that decide whether they are reached; ways out of the loop add to `names`."""
    for statement in statements:
        inner = conditions
        for part in ("test", "iter"):
            if hasattr(statement, part):
                inner = inner | _names(getattr(statement, part), ast.Load)
        bodies = [getattr(statement, part, []) for part in ("body", "orelse")]
        if any(bodies):
            if _leaves(statement):
                names |= inner
            if hasattr(statement, "target"):
                assignments.append((_names(statement.target, ast.Store), inner))
            for body in bodies:
                _collect(body, inner, names, assignments)
        else:
            assignments.append((_names(statement, ast.Store), conditions | _names(statement, ast.Load)))


class Loop:
    """One run of a `while` loop. It is called with the condition and the variables at the start of each turn."""

    def __init__(self, names):
        self.names = names
        self.before = None

    def __call__(self, condition, variables):
        if not condition:
            return False
        state = [current().stores] + [_held(variables.get(name)) for name in self.names]
        if self.before is not None and all(map(_same, state, self.before)):
            raise Refused(
                f"{line_text(kernel_line())}: this loop never ends, for nothing that its condition depends on changes. What a kernel "
                "loads stays what it was when the launch began, so it cannot wait until another program has written it (a spin "
                "wait): let an earlier launch write it")
        self.before = state
        return True


_UNCHANGING = (bool, int, float, str, tuple, type(None), np.ndarray, np.number, types.ModuleType)


class _Changing:
    """Stands for what may be another value each time: equal to nothing."""


def _held(value):
    if isinstance(value, tensor):
        return (value.dtype, value.data) if value.known else _Changing()
    is_own = type(value).__module__.startswith(__package__)  # a type, a block pointer, a descriptor
    return value if is_own or isinstance(value, _UNCHANGING) or callable(value) else _Changing()


def _same(a, b):
    if isinstance(a, _Changing) or type(a) is not type(b):
        return False
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(_same, map(_held, a), map(_held, b)))
    if isinstance(a, np.ndarray):
        return a is b or np.array_equal(a, b)
    return a is b or bool(a == b)
