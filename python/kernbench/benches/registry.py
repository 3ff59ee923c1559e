"""Benches by name."""
from .. import _core


class Bench:
    """A bench: `run(torch)` runs its host program over a context and prints its line."""

    def __init__(self, name):
        said = _core.describe_bench(name)
        self.name, self.description, self.options = said["name"].replace("_", "-"), said["description"], said["options"]

    def run(self, torch, **options):
        core = getattr(torch, "_torch", torch)
        words = [f"{key}={value}" for key, value in options.items()]
        line, right, complaints = core._run_bench_over(self.name, words, core.has_data)
        print(line)
        if right is False:
            raise AssertionError("; ".join(complaints))
        return line

    def __repr__(self):
        return f"<bench {self.name}: {self.description}>"


def resolve(name):
    """The bench of that name; `-` and `_` are alike."""
    return Bench(name.replace("_", "-"))


def list_benches():
    return [resolve(name) for name in _core.bench_names()]
