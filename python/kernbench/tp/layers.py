"""Layers whose weights are split over the ranks of a group."""
from .. import _core
from .parallel_state import context_of, get_tensor_model_parallel_world_size


def _context(layer, torch):
    if torch is None:
        raise TypeError(f"{type(layer).__name__} requires torch=<RuntimeContext>")
    get_tensor_model_parallel_world_size(torch)
    return context_of(torch)


class ColumnParallelLinear(_core.ColumnParallelLinear):
    """y = x · W (+ bias): each rank computes its columns of y."""

    def __init__(self, in_features, out_features, bias=False, dtype="f16", torch=None, gather_output=False, dp=None):
        super().__init__(_context(self, torch), in_features, out_features, bias, dtype, gather_output, dp)

    #: This rank's part of out_features.
    k_local = property(lambda self: self.n_local)


class RowParallelLinear(_core.RowParallelLinear):
    """y = x · W (+ bias): each rank multiplies its part of the features; the products are added up over the ranks."""

    def __init__(self, in_features, out_features, bias=False, dtype="f16", torch=None, input_is_parallel=True, dp=None):
        super().__init__(_context(self, torch), in_features, out_features, bias, dtype, input_is_parallel, dp)

    #: This rank's part of in_features.
    n_local = property(lambda self: self.k_local)


class VocabParallelEmbedding(_core.VocabParallelEmbedding):
    """Each rank has a range of the table's rows; ids outside of it give zeros, and the sum over the ranks is the result."""

    def __init__(self, num_embeddings, embedding_dim, dtype="f16", torch=None, dp=None):
        super().__init__(_context(self, torch), num_embeddings, embedding_dim, dtype, dp)
