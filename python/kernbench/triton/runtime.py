"""`triton.runtime`: names that kernel files import."""

from ._jit import Autotuner, Config, Heuristics, JITFunction, KernelInterface  # noqa: F401

__all__ = ["Autotuner", "Config", "Heuristics", "JITFunction", "KernelInterface"]
