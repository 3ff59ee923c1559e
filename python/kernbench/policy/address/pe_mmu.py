"""What a PE's MMU knows: which virtual bytes are which physical bytes."""
from ... import _core
from ..._errors import MmuFault

__all__ = ["MmuFault", "PeMMU"]


class PeMMU:
    """Maps ranges of bytes; mapping a range again replaces what was mapped there."""

    def __init__(self, page_size=4096):
        self.page_size = page_size
        self._map = _core.MmuMap()

    def map(self, va, pa, nbytes):
        """Bytes from `va` on are those from `pa` on: an int or a PhysAddr."""
        self._map.insert(va, int(pa), nbytes)

    def unmap(self, va, nbytes):
        self._map.erase(va, nbytes)

    def translate(self, va):
        """The physical address of a byte, as an int."""
        return self._map.translate(va)
