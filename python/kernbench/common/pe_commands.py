"""Recorded commands by the prototype's names."""
from .._core import Composite as CompositeCmd
from .._core import DmaRead as DmaReadCmd
from .._core import DmaWrite as DmaWriteCmd
from .._core import Gemm as GemmCmd
from .._core import Math as MathCmd
from .._core import TensorHandle
