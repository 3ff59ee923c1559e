"""How a kernel is called: `tl` is the parameter of that name, wherever it stands."""
import inspect


def place_of_tl(kernel):
    """The place of `tl` among the positional parameters, or -1: it is passed by keyword."""
    if inspect.isgeneratorfunction(kernel) or inspect.iscoroutinefunction(kernel):
        raise TypeError(f"kernel {name_of(kernel)} has a yield or an await: calling it would record nothing")
    try:
        parameters = inspect.signature(kernel).parameters
    except (TypeError, ValueError):
        return -1
    names = list(parameters)
    if "tl" in parameters:
        kind = parameters["tl"].kind
        before = [parameters[name].kind for name in names[: names.index("tl")]]
        positional = kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        return len(before) if positional else -1
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        return -1
    raise TypeError(f"kernel {name_of(kernel)}{inspect.signature(kernel)} has no parameter named 'tl'; add one: the calls of a kernel are made on it")


def name_of(kernel):
    return getattr(kernel, "__name__", None) or type(kernel).__name__


def call(kernel, tl, *args, **kwargs):
    """Calls a kernel with `tl` in its place."""
    place = place_of_tl(kernel)
    if 0 <= place <= len(args):
        return kernel(*args[:place], tl, *args[place:], **kwargs)
    return kernel(*args, tl=tl, **kwargs)


def run_kernel(kernel, tl, *args, **kwargs):
    """Records `kernel(*args, tl=tl)` as a new program, without any machine; `tl.commands` then holds its commands."""
    tl.begin()
    call(kernel, tl, *args, **kwargs)
    tl.finish()
    return tl
