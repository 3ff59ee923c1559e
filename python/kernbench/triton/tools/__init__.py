"""`triton.tools`: what kernels are launched with."""

from . import tensor_descriptor  # noqa: F401
