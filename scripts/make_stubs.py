#!/usr/bin/env python3
"""Writes python/kernbench/_core.pyi from the module itself, so that signatures and docs have one source.

Usage: PYTHONPATH=build/python scripts/make_stubs.py [--check]

With --check nothing is written; exit code 1 if the file is not what would be written.
"""
import inspect
import keyword
import pathlib
import re
import sys

from kernbench import _core

OUT = pathlib.Path(__file__).resolve().parents[1] / "python" / "kernbench" / "_core.pyi"
HEAD = '''# Made by scripts/make_stubs.py from the module's own signatures; not to be edited.
from typing import Any, Callable, Iterator, Optional, Sequence, Tuple, Union
'''
TYPES = {"handle": "Any", "object": "Any", "dtype": "Any", "None": "None", "int": "int", "float": "float", "bool": "bool", "str": "str",
         "list": "list[Any]", "dict": "dict[Any, Any]", "tuple": "tuple[Any, ...]", "iterable": "Any", "function": "Any",
         "tuple[int, ...]": "Any", "tuple[int, int, int]": "tuple[int, int, int]", "numpy.ndarray": "Any", "args": "Any"}


def type_of(text, given):
    """A type as mypy reads it. Shapes and the like are taken in several forms, so as arguments they are Any."""
    text = text.strip().replace("kernbench._core.", "")
    if text == "tuple[int, ...]" and not given:
        return text
    if text in TYPES:
        return TYPES[text]
    if hasattr(_core, text):
        return text
    match = re.fullmatch(r"(List|Optional)\[(.+)\]", text)
    if match:
        inner = type_of(match.group(2), given)
        return f"Sequence[{inner}]" if match.group(1) == "List" and given else f"list[{inner}]" if match.group(1) == "List" else f"Optional[{inner}]"
    return "Any"


def split(text):
    """Arguments at the commas that are in no bracket or quote."""
    parts, depth, quote, part = [], 0, "", ""
    for c in text:
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c in "([{<":
            depth += 1
        elif c in ")]}>":
            depth -= 1
        if c == "," and depth == 0 and not quote:
            parts.append(part.strip())
            part = ""
        else:
            part += c
    return parts + [part.strip()] if part.strip() else parts


def argument(text):
    if text in ("*", "/"):
        return text
    if text.startswith("*"):
        return f"{text.split(':')[0]}: Any"
    match = re.match(r"(\w+)(?:: (.*?))?(?: = (.*))?$", text, re.S)
    name, kind, default = match.groups()
    if name == "self":
        return "self"
    kind = type_of(kind, True) if kind else "Any"
    if default == "None" and not kind.startswith(("Optional", "Any")):
        kind = f"Optional[{kind}]"
    return f"{name}: {kind}" + (" = ..." if default is not None else "")


def signature(function, name):
    """`(self, x: int) -> Tile`, from the first line of a docstring; the general one if there are several."""
    first = (function.__doc__ or "").split("\n")[0]
    match = re.match(rf"{re.escape(name)}\((.*)\) -> (.*)$", first, re.S)
    if match is None or "Overloaded" in (function.__doc__ or ""):
        return "(self, *args: Any, **kwargs: Any) -> Any"
    arguments = []
    for position, part in enumerate(split(match.group(1))):
        arguments.append("self" if part.startswith("self:") else f"__{part.split(':')[0]}: Any" if re.match(r"arg\d+:", part) else argument(part))
    return f"({', '.join(arguments)}) -> {type_of(match.group(2), False)}"


def returned(prop):
    match = re.search(r"-> (.*)$", (prop.fget.__doc__ or "").split("\n")[0])
    return type_of(match.group(1), False) if match else "Any"


OPERATORS = re.compile(r"__(r?)(add|sub|mul|truediv|mod|floordiv|and|or|matmul|eq|ne|lt|le|gt|ge)__")


def class_lines(name, cls):
    yield f"class {name}:"
    empty = True
    for key, value in sorted(vars(cls).items()):
        if key in ("__doc__", "__module__", "__hash__", "__dict__", "__weakref__", "__array_ufunc__", "__new__"):
            continue
        if key.startswith("_pybind11") or keyword.iskeyword(key):
            continue
        empty = False
        if isinstance(value, property):
            yield f"    @property\n    def {key}(self) -> {returned(value)}: ..."
        elif isinstance(value, staticmethod):
            text = signature(value.__func__, key).replace("(self, *args", "(*args")
            yield f"    @staticmethod\n    def {key}{text}: ..."
        elif OPERATORS.fullmatch(key):
            back = "bool" if name in ("Ptr", "DPPolicy", "ShardSpec", "Machine") and key[2:4] in ("eq", "ne", "lt", "le", "gt", "ge") else name if name in ("Tile",) else "Any"
            ignore = "  # type: ignore[override]" if key in ("__eq__", "__ne__") and back != "bool" else ""
            yield f"    def {key}(self, other: Any) -> {back}: ...{ignore}"
        elif key == "__init__":
            yield f"    def __init__{signature(value, key)}: ...".replace("-> Any: ...", "-> None: ...")
        elif callable(value):
            yield f"    def {key}{signature(value, key)}: ..."
        else:
            yield f"    {key}: Any"
    if empty:
        yield "    pass"


def stubs():
    lines = [HEAD]
    public = {k: v for k, v in vars(_core).items() if not k.startswith("__") or k == "__version__"}
    for name, value in sorted(public.items()):
        if inspect.isclass(value):
            lines += [*class_lines(name, value), ""]
        elif callable(value):
            lines.append(f"def {name}{signature(value, name)}: ...".replace("(self, *args", "(*args"))
        else:
            lines.append(f"{name}: {type(value).__name__}")
    return "\n".join(lines) + "\n"


def main():
    text = stubs()
    if "--check" in sys.argv:
        if OUT.read_text("utf-8") != text:
            print(f"{OUT} is out of date: run scripts/make_stubs.py")
            return 1
        return 0
    OUT.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
