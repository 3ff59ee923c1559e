"""Sweeps from Python: many runs of one bench, and a table of them."""
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from ._errors import InputError


def _number(text):
    """What a field of the table means: a number, true or false, text, or None for nothing."""
    if text == "":
        return None
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def read_results(folder):
    """The rows of a sweep's `results.csv`, each a dict from column to value."""
    with open(pathlib.Path(folder) / "results.csv", newline="", encoding="utf-8") as file:
        return [{name: _number(text) for name, text in row.items()} for row in csv.DictReader(file)]


def sweep(plan, folder=None, jobs=1, fail_fast=False):
    """Runs a sweep and returns its rows, each a dict from column to value.

    `plan` is a YAML file, one of the shipped sweeps (`"gemm"`, `"allreduce"`, `"attention"`, `"llama"`), or a dict with the keys of such a file. Points
    that `folder` has already do not run again; without a folder everything runs, and nothing is kept. Points that fail have
    `ok` false and an `error`. `pandas.DataFrame(rows)` makes a table of them.
    """
    with tempfile.TemporaryDirectory(prefix="kernbench-sweep-") as passing:
        if isinstance(plan, dict):
            plan_file = pathlib.Path(passing) / "sweep.yaml"
            plan_file.write_text(json.dumps(plan))  # JSON is YAML
        else:
            plan_file = plan
        target = pathlib.Path(folder) if folder is not None else pathlib.Path(passing) / "points"
        words = ["sweep", os.fspath(plan_file), "-o", os.fspath(target), "--jobs", str(jobs), "--quiet"]
        package = os.fspath(pathlib.Path(__file__).resolve().parent.parent)
        paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
        done = subprocess.run([sys.executable, "-m", "kernbench", *words, *(["--fail-fast"] if fail_fast else [])],
                              env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONIOENCODING": "utf-8"},
                              capture_output=True, encoding="utf-8")
        if done.returncode not in (0, 1) or not (target / "results.csv").exists():
            raise InputError(done.stderr.strip().removeprefix("kernbench: ") or f"the sweep ended with {done.returncode}")
        return read_results(target)
