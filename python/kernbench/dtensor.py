"""Distributed tensors in the manner of PyTorch: one logical matrix over a mesh of SIPs, and operators that choose local work and
collectives from where their operands lie. Every rank of the mesh makes the same calls.

    mesh = dtensor.DeviceMesh(torch, (2, 2), ("dp", "tp"))
    x = dtensor.distribute_tensor(x_here, mesh, [Shard(0), Replicate()])
    w = dtensor.distribute_tensor(w_here, mesh, [Replicate(), Shard(1)])
    y = dtensor.relu(x @ w)                                   # Shard(0), Shard(1): nothing was sent
    everything = y.full_tensor().numpy()
"""
from ._core import DeviceMesh, DTensor, Placement, distribute_tensor
from ._core import dtensor_add as add
from ._core import dtensor_gelu as gelu
from ._core import dtensor_matmul as matmul
from ._core import dtensor_mul as mul
from ._core import dtensor_partial as Partial
from ._core import dtensor_relu as relu
from ._core import dtensor_replicate as Replicate
from ._core import dtensor_shard as Shard
from ._core import dtensor_silu as silu
from ._core import dtensor_softmax as softmax

__all__ = ["DTensor", "DeviceMesh", "Partial", "Placement", "Replicate", "Shard", "add", "distribute_tensor", "gelu", "matmul", "mul",
           "relu", "silu", "softmax"]
