"""`triton.runtime`: names that kernel files import."""

from ._jit import Autotuner, Config, Heuristics, JITFunction, KernelInterface  # noqa: F401

__all__ = ["Autotuner", "Config", "Heuristics", "JITFunction", "KernelInterface", "driver"]


class _Target:
    """Which machine code is for: files ask whether it is "cuda" or "hip"."""

    backend, arch, warp_size = "kernbench", 0, 32


class _Driver:
    def get_current_target(self):
        return _Target()


class driver:
    """`triton.runtime.driver.active`"""

    active = _Driver()
