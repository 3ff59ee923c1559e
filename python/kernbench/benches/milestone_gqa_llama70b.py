"""The bench `milestone-gqa-llama70b`. With the environment variable `GQA_VALIDATION=1` it runs at validation scale."""
import os
import pathlib

from .registry import resolve

#: Where `sweep.json` goes, under the current folder.
_OUTPUT_DIR = pathlib.Path("benches") / "1H_milestone_output" / "gqa"


def run(torch, **options):
    """Runs the bench over a context and writes its `sweep.json`."""
    if os.environ.get("GQA_VALIDATION", "") not in ("", "0"):
        options.setdefault("scale", "validation")
    return resolve("milestone-gqa-llama70b").run(torch, **options)
