"""Probes: one transfer at a time through an otherwise idle machine, measured and taken apart."""
import contextlib
import io
import json
import tempfile

from . import _core
from ._errors import InputError
from ._torch import machine_of


def probe(source, target, machine="default", *, op="read", bytes=None, offset=0):
    """How long a transfer takes from one node to another: `probe("sip0.cube0.pe0", "sip0.cube1.hbm_ctrl.pe0")`.

    Gives the document of `kernbench probe latency --json`: total_ns, formula_ns, parts, hops, effective_gbs …
    """
    words = ["probe", "bandwidth" if bytes is not None else "latency", source, target, "--op", op, "--offset", str(offset), "--json"]
    if bytes is not None:
        words += ["--bytes", str(bytes)]
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
        file.write(machine_of(machine).to_yaml())
        file.flush()
        return json.loads(_said([*words, "--topology", file.name]))


def _said(words):
    """What the command line prints."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = _core.cli_main(["kernbench", *words])
    if code != 0:
        raise InputError("probe.refused", "", err.getvalue().removeprefix("kernbench: ").strip(), "")
    return out.getvalue()
