"""How many ranks share a layer, and which of them is running."""
from .. import _core
from .._errors import InputError
from ..runtime_api.context import current_context


def context_of(torch=None):
    """The context that is given, or the one of `with RuntimeContext` or `run_bench`, as C++ knows it."""
    torch = torch if torch is not None else current_context.get()
    if torch is None:
        raise RuntimeError("no context: give torch=…, or use `with RuntimeContext(…)`")
    return torch if isinstance(torch, _core.Torch) else torch._torch


def initialize_model_parallel(tensor_model_parallel_size=1, *, torch=None):
    """Ranks form groups of n that follow each other; n divides their number."""
    try:
        _core.tp_initialize(context_of(torch), int(tensor_model_parallel_size))
    except InputError as error:
        raise NotImplementedError(str(error)) from error


def model_parallel_is_initialized(torch=None):
    try:
        return get_tensor_model_parallel_world_size(torch) > 0
    except RuntimeError:
        return False


def get_tensor_model_parallel_world_size(torch=None):
    """Ranks of a group."""
    try:
        return _core.tp_world_size(context_of(torch))
    except InputError as error:
        raise RuntimeError(str(error)) from error


def get_tensor_model_parallel_rank(torch=None):
    """The running rank's number in its group."""
    try:
        return _core.tp_rank(context_of(torch))
    except InputError as error:
        raise RuntimeError(str(error)) from error


def get_tensor_model_parallel_group(torch=None):
    """The ranks of the running rank's group."""
    context, n = context_of(torch), get_tensor_model_parallel_world_size(torch)
    first = context.distributed.get_rank() // n * n
    return list(range(first, first + n))


def _reset_for_tests():
    """Nothing to do: each context knows its own groups."""
