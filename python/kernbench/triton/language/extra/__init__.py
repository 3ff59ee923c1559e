"""Functions that Triton takes from a vendor's library."""

from . import libdevice

# tl.extra.cuda.libdevice, tl.extra.hip.libdevice: one library here.
import sys as _sys

cuda = hip = _sys.modules[__name__]
for _vendor in ("cuda", "hip"):
    _sys.modules[f"{__name__}.{_vendor}"] = _sys.modules[__name__]
    _sys.modules[f"{__name__}.{_vendor}.libdevice"] = libdevice


def gdc_wait():
    """No effect: a launch begins when the one before it has ended."""


def gdc_launch_dependents():
    """No effect: a launch begins when the one before it has ended."""
