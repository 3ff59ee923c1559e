"""Saved runs: everything a run did, in one SQLite file."""
import html
import json
import pathlib

from . import _core
from ._log import OpLog


class SavedRun:
    """A run that `torch.save_run`, `kb.run_bench(…, save=path)` or `kernbench run --save` has kept.

    In a notebook it shows itself: the page of `kernbench report`, inline. `docs/run-files.md` explains the tables."""

    def __init__(self, path):
        self.path = str(path)
        self.facts = json.loads(_core.saved_json(self.path))
        """The document of `kernbench run --json`, and what else the file says of the run."""

    @property
    def total_ns(self):
        return self.facts["total_ps"] / 1000

    @property
    def hash(self):
        """Equal hashes mean equal runs, on any computer."""
        return int(self.facts["hash"], 16)

    def log(self):
        """The op log as the run had it."""
        return OpLog(_core.open_log(self.path))

    def query(self, sql):
        """Rows of a query of your own."""
        return [tuple(row) for row in _core.saved_query(self.path, sql)]

    def explain(self):
        """Why it took that long, and what to change: the text of `kernbench explain`."""
        return _core.explain_run(self.path)

    def report(self, path=None):
        """The page about it: as a text, or written to a file."""
        return report(self, path=path)

    def _repr_html_(self):
        return _framed(report(self))

    def __repr__(self):
        return f"<saved run {self.path}: {self.facts.get('bench') or 'a program'}, {self.total_ns:.3f} ns>"


class Report:
    """A page about one or more saved runs, side by side; shows itself in a notebook."""

    def __init__(self, page):
        self.page = page

    def _repr_html_(self):
        return _framed(self.page)


def report(*runs, path=None):
    """The page of `kernbench report` about saved runs, or files of them: a text, or written to `path`."""
    page = _core.report_page([run.path if isinstance(run, SavedRun) else str(run) for run in runs])
    if path is None:
        return page
    pathlib.Path(path).write_text(page, encoding="utf-8")
    return str(path)


def show(*runs):
    """In a notebook: the page about saved runs, side by side."""
    return Report(report(*runs))


def _framed(page):
    """A page within a page: its style and ids stay its own, and it may run scripts but ask nobody for anything."""
    return f'<iframe srcdoc="{html.escape(page)}" sandbox="allow-scripts" style="width:100%;height:760px;border:1px solid #ccc" loading="lazy"></iframe>'
