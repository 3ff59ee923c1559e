"""How many ranks share a layer, and which of them is running."""
from ..runtime_api.context import current_context

_size = None


def context_of(torch=None):
    """The context that is given, or the one of `with RuntimeContext` or `run_bench`."""
    torch = torch if torch is not None else current_context.get()
    if torch is None:
        raise RuntimeError("no context: give torch=…, or use `with RuntimeContext(…)`")
    return torch


def initialize_model_parallel(tensor_model_parallel_size=1, *, torch=None):
    """Ranks form groups of n that follow each other; n divides their number."""
    global _size
    world = context_of(torch).distributed.get_world_size()
    n = int(tensor_model_parallel_size)
    if n < 1 or world % n != 0:
        raise NotImplementedError(f"tensor_model_parallel_size ({n}) must divide the world size ({world})")
    _size = n


def model_parallel_is_initialized():
    return _size is not None


def get_tensor_model_parallel_world_size():
    """Ranks of a group."""
    if _size is None:
        raise RuntimeError("tensor model parallel is not initialized: call initialize_model_parallel(n) first")
    return _size


def get_tensor_model_parallel_rank(torch=None):
    """The running rank's number in its group."""
    return context_of(torch).distributed.get_rank() % get_tensor_model_parallel_world_size()


def get_tensor_model_parallel_group(torch=None):
    """The ranks of the running rank's group."""
    first = context_of(torch).distributed.get_rank() // get_tensor_model_parallel_world_size() * get_tensor_model_parallel_world_size()
    return list(range(first, first + get_tensor_model_parallel_world_size()))


def _reset_for_tests():
    global _size
    _size = None
