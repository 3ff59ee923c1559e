"""Ranks and the process group: what `torch.multiprocessing` and `torch.distributed` are to a PyTorch program."""
import contextvars
import enum
import operator


class ReduceOp(enum.Enum):
    """How elements are combined. Names in lower case are taken too."""

    SUM = "SUM"
    MAX = "MAX"
    MIN = "MIN"
    PROD = "PROD"
    AVG = "AVG"


class Group:
    """Who takes part in a collective: some ranks, or all cubes of all SIPs."""

    def __init__(self, members):
        self._group = members

    def __repr__(self):
        return f"Group({self._group!r})"


def _sips_of(rank_to_sip):
    try:
        return [operator.index(sip) for sip in rank_to_sip]
    except TypeError:
        raise TypeError(f"rank_to_sip is {rank_to_sip!r}; it must be a list with the number of a SIP for each rank, such as [1, 0]") from None


class Multiprocessing:
    """`torch.multiprocessing`"""

    def __init__(self, torch):
        self._torch = torch

    def spawn(self, fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
        """Runs `fn(rank, *args)` for the ranks 0 … nprocs - 1 and comes back when all have ended.

        Ranks take turns: one runs until it must wait. Raises SpawnException with what each failed rank raised.
        """
        if not callable(fn):
            raise TypeError(f"spawn runs a function, not {type(fn).__name__}")
        # A rank is a thread, and a new thread starts with an empty context: each gets a copy of the caller's.
        context = contextvars.copy_context()
        self._torch._spawn(lambda rank: context.copy().run(fn, rank, *args), nprocs)


class Distributed:
    """`torch.distributed`. Collectives return when this rank's part is done; with `async_op` they return a Work at once."""

    ReduceOp = ReduceOp

    def __init__(self, torch):
        self._torch = torch

    def init_process_group(self, backend="ahbm", rank_to_sip=None, **ignored):
        """Installs the queues of the configured all-reduce. Once before `spawn`, or once in every rank.

        With `rank_to_sip` rank r is the SIP `rank_to_sip[r]`: each SIP once, and before anything else is asked of the machine."""
        self._torch._init_process_group(backend, [] if rank_to_sip is None else _sips_of(rank_to_sip))

    def cooperative_yield(self):
        """Lets the other ranks run until each of them waits. Outside of `spawn` it does nothing."""
        self._torch._yield()

    def destroy_process_group(self, group=None):
        """Nothing is left to do: queues go with their context."""

    def is_initialized(self):
        return self._torch._is_initialized()

    def is_available(self):
        return True

    def get_backend(self, group=None):
        return "ahbm"

    def get_rank(self, group=None):
        return self._torch._rank()

    def get_world_size(self, group=None):
        return self._torch._world_size()

    def new_group(self, ranks=None):
        return Group(None if ranks is None else list(ranks))

    def _done(self, work, async_op):
        return work if async_op else None

    def all_reduce(self, tensor, op="sum", group=None, async_op=False):
        return self._done(self._torch._all_reduce(tensor, op, group, async_op), async_op)

    def broadcast(self, tensor, src, group=None, async_op=False):
        return self._done(self._torch._broadcast(tensor, src, group, async_op), async_op)

    def reduce(self, tensor, dst, op="sum", group=None, async_op=False):
        return self._done(self._torch._reduce(tensor, dst, op, group, async_op), async_op)

    def all_gather_into_tensor(self, output_tensor, input_tensor, group=None, async_op=False):
        return self._done(self._torch._all_gather(output_tensor, input_tensor, group, async_op), async_op)

    def reduce_scatter_tensor(self, output, input, op="sum", group=None, async_op=False):
        return self._done(self._torch._reduce_scatter(output, input, op, group, async_op), async_op)

    def all_to_all_single(self, output, input, group=None, async_op=False):
        return self._done(self._torch._all_to_all(output, input, group, async_op), async_op)

    def send(self, tensor, dst, group=None):
        self._torch._send(tensor, dst, False)

    def recv(self, tensor, src, group=None):
        self._torch._recv(tensor, src, False)

    def isend(self, tensor, dst, group=None):
        return self._torch._send(tensor, dst, True)

    def irecv(self, tensor, src, group=None):
        return self._torch._recv(tensor, src, True)

    def barrier(self, group=None, async_op=False):
        return self._done(self._torch._barrier(group, async_op), async_op)
