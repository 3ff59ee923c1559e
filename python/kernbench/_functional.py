"""The functional runner: what a kernel computes on all its ranks, without a machine and without time."""
import dataclasses
import inspect

from . import _core
from ._kernels import call, name_of


class NotYetKnown(BaseException):
    """Ends a kernel that asks for the data of a tile; it is recorded again when they are known."""


@dataclasses.dataclass
class FunctionalResult:
    """What a kernel left in the tensors of all ranks, and what it sent."""

    tensors: list       #: of each rank, as the kernels left them
    messages: int
    bytes: int
    busiest_link: int
    rounds: int         #: the longest chain of messages in which each carries something of the one before
    unread: list        #: messages nobody received

    @property
    def arrays(self):
        """The first tensor of each rank."""
        return [tensors[0] for tensors in self.tensors]


def _wants_rank(kernel):
    try:
        names = inspect.signature(kernel).parameters
    except (TypeError, ValueError):
        return False
    return "rank" in names and "world_size" in names


def run_functional(kernel, world_size, topology, inputs, *args, slot_size=None, slots=None, any_order=None, ranks=None):
    """Runs `kernel(tensor, *args, tl=tl)` on all ranks; if it has parameters `rank` and `world_size`, it gets them.

    `inputs` has an array (or a list of arrays) for each rank; `topology` is a name such as "ring_1d" or a list of
    (rank, direction, rank). Deadlocks are a SimulationError that says who waits for whom.
    """
    inputs = [list(array) if isinstance(array, (list, tuple)) else [array] for array in inputs]
    if len(inputs) != world_size:
        raise ValueError(f"{len(inputs)} inputs for {world_size} ranks: give one for each")
    named = _wants_rank(kernel)

    def body(pointers, rank, size, tl):
        call(kernel, tl, *pointers, *args, **({"rank": rank, "world_size": size} if named else {}))

    places = ranks if ranks is not None else _core.first_pes(world_size)
    answers = [[] for _ in range(world_size)]  # of each rank: what `.data` of its tiles gave, in order
    while True:
        given = [iter(of_rank) for of_rank in answers]
        said, asked, found = _core.run_functional(body, places, topology, inputs, name_of(kernel), slot_size, slots, any_order or {},
                                                  lambda rank: next(given[rank], None))
        if not asked:
            return FunctionalResult(**said)
        for rank, array in found:
            answers[rank].append(array)
