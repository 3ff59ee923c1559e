#!/usr/bin/env python3
"""Checks that the layers are used in one direction only.

Usage: scripts/check_layers.py [ROOT]

A layer may include and link only those above it in LAYERS (docs: src/README.md). A file of src/LAYER belongs to LAYER; a
public header belongs to the layer its namespace names (kernbench::sim: sim; plain kernbench: base), or to that of FACES; one
whose namespace is no layer's (kernbench::matchers) belongs to the lowest layer it includes.
Prints each line that points the wrong way and exits with 1 if there is one.
"""
import pathlib
import re
import sys

LAYERS = ["base", "sim", "models", "topology", "address", "isa", "tl", "device", "trace", "data", "runtime", "ccl", "dist", "nn", "bench",
          "report", "sweep", "web", "cli", "python"]
# Layers that must not know each other although one stands above the other.
STRANGERS = [("tl", "device")]
# The faces of the whole: public headers in the plain namespace that are not of base.
FACES = {"kernbench/bench.hpp": "bench", "kernbench/cli.hpp": "cli"}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
NAMESPACE = re.compile(r"^namespace kernbench(?:::(\w+))?", re.M)
USES = re.compile(r"kernbench_layer\(\s*(\w+).*?\bUSES\s+([\w\s]+?)(?:\)|\bLINKS\b)", re.S)


def public_layers(root):
    """Layer of each public header, by its include path."""
    texts = {header.relative_to(root / "include").as_posix(): header.read_text("utf-8")
             for header in sorted((root / "include").rglob("*.hpp"))}
    layers = {name: layer for name, layer in FACES.items() if name in texts}

    def layer_of(name):
        if name not in layers:
            found = NAMESPACE.search(texts[name])
            named = (found.group(1) or "base") if found else None
            used = [] if named in LAYERS else [layer_of(i) for i in INCLUDE.findall(texts[name]) if i in texts]
            layers[name] = named if named in LAYERS else max(used, key=LAYERS.index, default="base")
        return layers[name]

    return {name: layer_of(name) for name in texts}


def layer_of_include(include, public):
    if include in public:
        return public[include]
    first = include.split("/")[0]
    return first if first in LAYERS and "/" in include else None


def allowed(user, used):
    if {user, used} in [set(pair) for pair in STRANGERS]:
        return False
    return LAYERS.index(used) <= LAYERS.index(user)


def check_includes(root, public):
    files = [(path, path.relative_to(root / "src").parts[0]) for path in (root / "src").rglob("*.[ch]pp")]
    files += [(root / "include" / name, layer) for name, layer in public.items()]
    for path, layer in sorted(files):
        if layer not in LAYERS:
            yield f"{path.relative_to(root)}: '{layer}' is no layer; known: {', '.join(LAYERS)}"
            continue
        text = path.read_text("utf-8")
        for match in INCLUDE.finditer(text):
            used = layer_of_include(match.group(1), public)
            if used and not allowed(layer, used):
                line = text.count("\n", 0, match.start()) + 1
                yield f"{path.relative_to(root)}:{line}: {layer} must not include {match.group(1)} of {used}"


def check_links(root):
    for path in sorted((root / "src").glob("*/CMakeLists.txt")):
        for layer, uses in USES.findall(path.read_text("utf-8")):
            for used in uses.split():
                if used not in LAYERS or layer not in LAYERS or not allowed(layer, used):
                    yield f"{path.relative_to(root)}: {layer} must not use {used}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    problems = [*check_includes(root, public_layers(root)), *check_links(root)]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
