"""The command line. `--bench file.py:name` runs a bench of a Python file."""
import importlib.util
import os
import pathlib
import sys

from . import _core
from ._collectives import import_named


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
    """The name of the bench that `file.py:name` stands for."""
    file, _, name = word.rpartition(":") if word.rfind(".py:") >= 0 else (word, "", "")
    if not pathlib.Path(file).is_file():
        raise FileNotFoundError(f"--bench {word}: there is no file {file}")
    before = set(_core.bench_names())
    module = load_file(file)
    known = {b.replace("_", "-") for b in _core.bench_names()}
    if name.replace("_", "-") in known:
        return name
    from ._bench import bench
    if name and callable(getattr(module, name, None)):
        return getattr(getattr(module, name), "bench_name", None) or bench(getattr(module, name)).bench_name
    new = [b for b in _core.bench_names() if b not in before]
    if not name and len(new) == 1:
        return new[0]
    raise LookupError(f"--bench {word}: {file} has no bench or function {name!r}; its benches: {', '.join(new) or 'none'}"
                      if name else f"--bench {word}: say which one: {', '.join(f'{file}:{b}' for b in new) or 'it has none'}")


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


def main(argv=None):
    """Runs a command and returns its exit code. Text goes through `sys.stdout`, in that stream's encoding."""
    argv = sys.argv[1:] if argv is None else [str(word) for word in argv]
    _escape_what_cannot_be_encoded(sys.stdout)
    if argv[:1] == ["plot"]:
        from ._plot import main as plot
        return plot(argv[1:])
    try:
        words = _with_loaded_benches(argv)
    except (FileNotFoundError, LookupError) as error:
        print(f"kernbench: {error}", file=sys.stderr)
        return 2
    except Exception:  # the file's own, so with its traceback
        import traceback
        traceback.print_exc()
        return 2
    import_named(_ccl_of(words))
    return _core.cli_main([os.fsencode(word) for word in ["kernbench", *words]])  # names of files, byte for byte
