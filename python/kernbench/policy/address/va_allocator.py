"""Ranges of virtual addresses."""
from .allocator import Memory


class VirtualAllocator:
    """Hands out page-aligned ranges of `va_size` bytes from `va_base` on."""

    def __init__(self, *, va_base, va_size, page_size):
        if va_base % page_size:
            raise ValueError(f"va_base {va_base:#x} is not a multiple of the page size, {page_size}")
        self.va_base, self.va_size, self.page_size = va_base, va_size, page_size
        self._ranges = Memory(va_size, f"virtual addresses from {va_base:#x}", page_size)

    def alloc(self, nbytes):
        """The first address of the range."""
        return self.va_base + self._ranges.take(nbytes, "alloc")

    def free(self, va, nbytes):
        self._ranges.give_back(va - self.va_base, nbytes)
