"""Benches: run those that ship, and register your own."""
import inspect

from . import _core
from ._collectives import import_named
from ._core import Param
from ._kernels import name_of
from ._log import OpLog
from ._saved import SavedRun
from ._torch import Torch, machine_of


class Options(dict):
    """The values of a bench's options: `options.n` or `options["n"]`."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"this bench has no option '{name}'; it has {', '.join(self) or 'none'}") from None


def _param(name, default):
    """An option from its default: `n=1024` is an integer."""
    if isinstance(default, Param):
        return default
    if isinstance(default, bool):
        return Param.flag(name, default)
    if isinstance(default, int):
        return Param.integer(name, default)
    if isinstance(default, float):
        return Param.number(name, default)
    if isinstance(default, str):
        return Param.text(name, default)
    raise TypeError(f"option {name}: a default is a bool, int, float, str or Param, not {type(default).__name__}")


def _arguments(fn):
    """How many of (torch, options, report) a host function takes."""
    kinds = [p.kind for p in inspect.signature(fn).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return 3
    return sum(k in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD) for k in kinds)


def check_parameters(fn):
    """How many of (torch, options, report) a host function takes; TypeError if it is none of one to three."""
    count = _arguments(fn)
    if not 1 <= count <= 3:
        raise TypeError(f"{name_of(fn)}{inspect.signature(fn)} takes {count or 'no'} positional parameters; a bench takes (torch), "
                        "(torch, options) or (torch, options, report)")
    return count


def bench(name=None, description="", options=None):
    """Registers a host program `fn(torch[, options[, report]])` that the command line runs too.

        @kb.bench(name="scale", description="multiplies a vector", options={"n": 1024})
        def scale(torch, options, report): ...

    `options` maps names to defaults or Params. A bench that was registered before under that name is replaced.
    """
    if callable(name):  # `@kb.bench` without brackets
        return bench()(name)

    def register(fn):
        own = name or name_of(fn).replace("_", "-")
        params = [_param(key, value) for key, value in (options or {}).items()] if not isinstance(options, (list, tuple)) else list(options)
        count = check_parameters(fn)

        def run(core, values, report):
            torch = Torch._over(core)
            fn(*(torch, Options(values), report)[:count])
            if report.verdict == "not checked" and report.verify and count < 3:
                report.verified(True)  # its assertions are its checks

        text = description or (inspect.getdoc(fn) or own).splitlines()[0]
        _core.add_bench(own, text, params, run, own in _own)
        _own.add(own)
        fn.bench_name = own
        return fn

    return register


_own: set = set()


def list_benches():
    """The names of all benches."""
    return _core.bench_names()


def describe_bench(name):
    """{name, description, options}"""
    return _core.describe_bench(name)


def run_bench(name, machine="default", *, device="all", verify=False, hazards=False, strict=False, threads=0, ccl="",
              ccl_overrides=(), save="", **options):
    """Runs a bench and returns everything there is to say about it: `.line`, `.total_ns`, `.critical_path`, `.hazards` …

    Hazards are looked for with `hazards=True`, `verify=True` or `strict=True`; else `.hazards` is None. Without `ccl` the
    `ccl.yaml` of the current folder is used, else the one that ships. `save` keeps everything it did in a file, and `.saved`
    is then a SavedRun."""
    if callable(name):
        name = getattr(name, "bench_name", None) or bench(name).bench_name
    if not isinstance(name, str):
        raise TypeError(f"run_bench takes the name of a bench or a host function, not {name!r}")
    words = [f"{key}={_word(value)}" for key, value in options.items()]
    import_named(ccl)
    result = _core.run_bench(name, words, machine_of(machine), device, verify, hazards, strict, threads, str(ccl), list(ccl_overrides),
                             str(save))
    result.log = OpLog(result._log)
    result.saved = SavedRun(save) if save else None
    return result


def _as_html(result):
    """In a notebook: the bench's line, its launches and where the time went."""
    import html
    rows = "".join(f"<tr><td>{html.escape(t.name)}</td><td>{t.sip}</td><td>{t.total_ns:.3f}</td><td>{t.pe_exec_ns:.3f}</td><td>{bound:.3f}</td></tr>"
                   for t, bound, _ in result.launches)
    table = f"<table><tr><th>launch</th><th>sip</th><th>total ns</th><th>pe_exec ns</th><th>lower bound ns</th></tr>{rows}</table>"
    return f"<pre>{html.escape(result.line)}</pre>{table}<pre>{html.escape(str(result.critical_path))}</pre>"


setattr(_core.BenchResult, "_repr_html_", _as_html)


def _word(value):
    return str(value).lower() if isinstance(value, bool) else str(value)
