"""Tensor parallel layers in the manner of Megatron: a layer's weights are split over the ranks of a group."""
from .layers import ColumnParallelLinear, RowParallelLinear, VocabParallelEmbedding
from .parallel_state import (get_tensor_model_parallel_rank, get_tensor_model_parallel_world_size,
                             initialize_model_parallel)

__all__ = ["ColumnParallelLinear", "RowParallelLinear", "VocabParallelEmbedding", "initialize_model_parallel",
           "get_tensor_model_parallel_world_size", "get_tensor_model_parallel_rank"]
