"""The memories of one PE as something to allocate from."""
import dataclasses

from ... import _core
from ..._errors import AllocationError, InputError
from .phyaddr import PhysAddr

__all__ = ["AddressConfig", "AllocationError", "PEMemAllocator"]


@dataclasses.dataclass(frozen=True, init=False)
class AddressConfig:
    """How many memories a machine has, and how large they are."""

    sip_count: int
    cubes_per_sip: int
    pes_per_cube: int
    hbm_bytes_per_cube: int
    hbm_slices_per_cube: int
    tcm_bytes_per_pe: int
    tcm_scheduler_reserved_bytes: int  #: the first bytes of each TCM, which are not handed out
    sram_bytes_per_cube: int

    def __init__(self, *, sip_count, cubes_per_sip, pes_per_cube, hbm_bytes_per_cube, hbm_slices_per_cube, tcm_bytes_per_pe,
                 tcm_scheduler_reserved_bytes, sram_bytes_per_cube):
        values = dict(locals())
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, values[field.name])

    @property
    def hbm_slice_bytes(self):
        return self.hbm_bytes_per_cube // self.hbm_slices_per_cube


class Memory:
    """Ranges of one memory, named by their first byte and their length."""

    def __init__(self, capacity, place, granule=1):
        if not 0 <= capacity <= 1 << 60:
            raise InputError("address.size", place, f"a memory of {capacity} bytes", "it has 0 to 2⁶⁰ bytes")
        if granule < 1 or granule & granule - 1:
            raise InputError("address.size", place, f"ranges in steps of {granule} bytes", "the step is a power of two")
        self._ranges = _core.RangeAllocator(capacity, granule)
        self._place, self._taken = place, {}

    def take(self, nbytes, owner):
        if nbytes <= 0:
            raise InputError("address.size", self._place, f"{nbytes} bytes were asked for", "ask for at least one")
        offset = self._ranges.allocate(nbytes, owner, self._place)
        self._taken[offset] = nbytes
        return offset

    def give_back(self, offset, nbytes):
        if self._taken.get(offset) != nbytes:
            known = f"{self._taken[offset]} bytes are taken there" if offset in self._taken else "nothing that was taken begins there"
            raise InputError("address.free", self._place, f"{nbytes} bytes at offset {offset:#x} cannot be freed: {known}",
                             "free what was allocated, once")
        del self._taken[offset]
        self._ranges.free(offset)

    @property
    def free_bytes(self):
        return self._ranges.free_bytes


class PEMemAllocator:
    """Allocates from a PE's slice of HBM and from its TCM, best fit."""

    def __init__(self, *, rack_id, sip_id, cube_id, pe_id, cfg):
        self.rack_id, self.sip_id, self.cube_id, self.pe_id, self.cfg = rack_id, sip_id, cube_id, pe_id, cfg
        pe = f"sip{sip_id}.cube{cube_id}.pe{pe_id}"
        self._hbm = Memory(cfg.hbm_slice_bytes, f"{pe} HBM")
        self._tcm = Memory(cfg.tcm_bytes_per_pe - cfg.tcm_scheduler_reserved_bytes, f"{pe} TCM")
        self._tcm_begin = cfg.tcm_scheduler_reserved_bytes

    @property
    def _at(self):
        return self.rack_id, self.sip_id, self.cube_id, self.pe_id

    def alloc_hbm(self, nbytes):
        return PhysAddr.pe_hbm_addr(*self._at, self._hbm.take(nbytes, "alloc_hbm"), self.cfg.hbm_slice_bytes)

    def alloc_tcm(self, nbytes):
        return PhysAddr.pe_tcm_addr(*self._at, self._tcm_begin + self._tcm.take(nbytes, "alloc_tcm"))

    def free_hbm(self, addr, nbytes):
        self._hbm.give_back(addr.component_offset - self.pe_id * self.cfg.hbm_slice_bytes, nbytes)

    def free_tcm(self, addr, nbytes):
        self._tcm.give_back(addr.component_offset - self._tcm_begin, nbytes)

    def reserve_ipcq_tcm(self, total_bytes):
        """Takes bytes of the TCM for good. Returns their offset in it."""
        return self._tcm_begin + self._tcm.take(total_bytes, "ipcq")

    def reserve_ipcq_hbm(self, total_bytes):
        """Takes bytes of the slice of HBM for good. Returns their offset in it."""
        return self._hbm.take(total_bytes, "ipcq")
