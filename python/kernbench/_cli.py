"""The command line. `--bench file.py:name` runs a bench of a Python file."""
import difflib
import importlib.util
import inspect
import os
import pathlib
import sys

from . import _core
from ._collectives import import_named
from ._errors import InputError


def load_file(path):
    """Executes a Python file as a module, so that it registers its benches."""
    path = pathlib.Path(path).resolve()
    name = f"kernbench_file_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


def _bench_of(word):
    """The name of the bench that `file.py:name` stands for; without a name, that of the file's only bench or function."""
    file, _, name = word.rpartition(":") if word.rfind(".py:") >= 0 else (word, "", "")
    if not pathlib.Path(file).is_file():
        raise FileNotFoundError(f"--bench {word}: there is no file {file}")
    before = set(_core.bench_names())
    module = load_file(file)
    known = {b.replace("_", "-") for b in _core.bench_names()}
    if name.replace("_", "-") in known:
        return name
    if name and callable(getattr(module, name, None)):
        return _registered(getattr(module, name), word)
    benches = [b for b in _core.bench_names() if b not in before]
    functions = [] if benches and not name else _host_functions(module)
    choices = benches + functions
    if name:
        near = difflib.get_close_matches(name, choices, 1)
        meant = f"; did you mean '{near[0]}'?" if near else ""
        raise LookupError(f"--bench {word}: {file} has no bench or function '{name}'{meant}; it has {', '.join(choices) or 'none'}")
    if len(choices) == 1:
        return benches[0] if benches else _registered(getattr(module, functions[0]), word)
    if choices:
        raise LookupError(f"--bench {word}: {file} has {len(choices)} {'benches' if benches else 'functions'}; "
                          f"say which one: {', '.join(f'{file}:{choice}' for choice in choices)}")
    raise LookupError(f"--bench {word}: {file} has no bench; define a function of (torch), (torch, options) or (torch, options, report)")


def _registered(function, word):
    """The name of the bench that a function of the file is, registered now if it is a plain function."""
    from ._bench import bench, check_parameters
    if hasattr(function, "bench_name"):
        return function.bench_name
    try:
        check_parameters(function)
    except TypeError as error:
        raise LookupError(f"--bench {word}: {error}") from None
    return bench(function).bench_name


def _host_functions(module):
    """The public functions that the file defines and that are neither kernels, which have a `tl`, nor registered benches."""
    return [name for name, value in vars(module).items()
            if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
            and not hasattr(value, "bench_name") and "tl" not in inspect.signature(value).parameters]


def _is_python(word):
    return word.endswith(".py") or ".py:" in word


def _with_loaded_benches(argv):
    words = list(argv)
    for i, word in enumerate(words):
        if word.startswith("--bench=") and _is_python(word):
            words[i] = "--bench=" + _bench_of(word[len("--bench="):])
        elif word == "--bench" and i + 1 < len(words) and _is_python(words[i + 1]):
            words[i + 1] = _bench_of(words[i + 1])
    if words[:1] == ["describe"] and len(words) > 1 and _is_python(words[1]):
        words[1] = _bench_of(words[1])
    return words


def _escape_what_cannot_be_encoded(stream):
    """Lets a stream whose encoding lacks a character write it as `\\u2192` instead of failing when the run is over."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")


def _ccl_of(words):
    """The file that `--ccl` names."""
    for i, word in enumerate(words):
        if word.startswith("--ccl="):
            return word[len("--ccl="):]
        if word == "--ccl" and i + 1 < len(words):
            return words[i + 1]
    return None


def _import_ccl(words):
    """Imports the modules that the ccl.yaml names. Commands that do not read that file work without them."""
    try:
        import_named(_ccl_of(words))
    except Exception:
        if words[:1] in (["run"], ["ccl"], ["sweep"]):
            raise


def main(argv=None):
    """Runs a command and returns its exit code. Text goes through `sys.stdout`, in that stream's encoding."""
    argv = sys.argv[1:] if argv is None else [str(word) for word in argv]
    _escape_what_cannot_be_encoded(sys.stdout)
    if argv[:1] == ["plot"]:
        from ._plot import main as plot
        return plot(argv[1:])
    try:
        words = _with_loaded_benches(argv)
        _import_ccl(words)
    except (FileNotFoundError, LookupError, InputError) as error:
        print(f"kernbench: {error}", file=sys.stderr)
        return 2
    except Exception:  # the file's own, so with its traceback
        import traceback
        traceback.print_exc()
        return 2
    return _core.cli_main([os.fsencode(word) for word in ["kernbench", *words]])  # names of files, byte for byte
