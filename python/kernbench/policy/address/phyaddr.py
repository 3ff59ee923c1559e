"""Physical addresses: 51 bits that name a byte somewhere in the machine."""
import dataclasses
import enum
import functools
from typing import Optional

from ... import _core
from ..._errors import InputError

#: Bytes of HBM of each PE in the machines that ship: which PE an HBM address belongs to follows from it.
DEFAULT_SLICE_BYTES = 6 << 30
_BITS, _SIPS_OF_RACK = 51, 16


class PhysAddrError(InputError):
    """A number that is no physical address, or fields that no address can hold."""

    def __init__(self, message, hint=""):
        super().__init__("address.physical", "", message, hint)


class UnitType(enum.Enum):
    """The unit of a cube that an address which is not in HBM belongs to."""

    PE = "pe"
    MCPU = "mcpu"
    SRAM = "sram"


_UNITS = {"hbm": None, "sram": UnitType.SRAM, "mcpu": UnitType.MCPU}
_KINDS = {"hbm": "hbm", "sram": "sram", "mcpu": "mcpu"}


@functools.total_ordering
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class PhysAddr:
    """A physical address and its fields. Two are equal if they name the same byte."""

    rack_id: int
    sip_id: int
    cube_id: int
    pe_id: int                          #: of HBM: the PE whose slice it is in
    kind: str                           #: "hbm", "pe_resource" (of a PE), "sram"
    unit_type: Optional[UnitType]       #: None of HBM
    component: Optional[str]            #: of a PE: "tcm", "ipcq", "scratchpad", "regfile"
    component_offset: int               #: bytes from where its memory begins

    # ── making one ──

    @classmethod
    def _of(cls, resource, rack_id, sip_id, cube_id, pe_id, offset, slice_size_bytes=DEFAULT_SLICE_BYTES):
        if not 0 <= sip_id < _SIPS_OF_RACK:
            raise PhysAddrError(f"sip_id {sip_id} is not in 0 … {_SIPS_OF_RACK - 1}", "a rack has 16 SIPs; rack_id counts the racks")
        try:
            raw = _core.address_of(resource, rack_id * _SIPS_OF_RACK + sip_id, cube_id, pe_id, offset)
        except InputError as error:
            raise PhysAddrError(error.message or str(error), error.hint) from None
        return cls.decode(raw, slice_size_bytes)

    @classmethod
    def hbm_addr(cls, rack_id, sip_id, cube_id, hbm_offset):
        """A byte of a cube's HBM."""
        return cls._of("hbm", rack_id, sip_id, cube_id, 0, hbm_offset)

    @classmethod
    def pe_hbm_addr(cls, rack_id, sip_id, cube_id, pe_id, pe_local_hbm_offset, slice_size_bytes=DEFAULT_SLICE_BYTES):
        """A byte of a PE's slice of HBM; slices follow each other."""
        if not 0 <= pe_local_hbm_offset < slice_size_bytes:
            raise PhysAddrError(f"offset {pe_local_hbm_offset:#x} is not in a slice of {slice_size_bytes} bytes")
        if not 0 <= pe_id < 16:
            raise PhysAddrError(f"pe_id {pe_id} is not in 0 … 15")
        return cls._of("hbm", rack_id, sip_id, cube_id, 0, pe_id * slice_size_bytes + pe_local_hbm_offset, slice_size_bytes)

    @classmethod
    def pe_tcm_addr(cls, rack_id, sip_id, cube_id, pe_id, tcm_offset):
        return cls._of("tcm", rack_id, sip_id, cube_id, pe_id, tcm_offset)

    @classmethod
    def pe_ipcq_addr(cls, rack_id, sip_id, cube_id, pe_id, ipcq_offset):
        return cls._of("ipcq", rack_id, sip_id, cube_id, pe_id, ipcq_offset)

    @classmethod
    def pe_scratchpad_addr(cls, rack_id, sip_id, cube_id, pe_id, scratchpad_offset):
        return cls._of("scratchpad", rack_id, sip_id, cube_id, pe_id, scratchpad_offset)

    @classmethod
    def pe_regfile_addr(cls, rack_id, sip_id, cube_id, pe_id, regfile_offset):
        return cls._of("regfile", rack_id, sip_id, cube_id, pe_id, regfile_offset)

    @classmethod
    def cube_sram_addr(cls, rack_id, sip_id, cube_id, sram_offset):
        return cls._of("sram", rack_id, sip_id, cube_id, 0, sram_offset)

    # ── as a number ──

    @classmethod
    def decode(cls, addr, slice_size_bytes=DEFAULT_SLICE_BYTES):
        """The address that a number stands for. The number does not say how large a PE's slice of HBM is, so which PE an HBM
        address belongs to follows from `slice_size_bytes`."""
        addr = int(addr)
        if not 0 <= addr < 1 << _BITS:
            raise PhysAddrError(f"addr must be a 51-bit value, not {addr:#x}")
        try:
            resource, sip, cube, pe, offset = _core.address_fields(addr)
        except InputError as error:
            raise PhysAddrError(error.message or str(error), error.hint) from None
        rack_id, sip_id = divmod(sip, _SIPS_OF_RACK)
        if resource == "hbm":
            pe = offset // slice_size_bytes
        of_pe = resource not in _KINDS
        return cls(rack_id, sip_id, cube, pe, _KINDS.get(resource, "pe_resource"), UnitType.PE if of_pe else _UNITS[resource],
                   resource if of_pe else None, offset)

    def encode(self):
        """The address as an int of 51 bits."""
        resource = self.component if self.kind == "pe_resource" else self.kind
        pe = self.pe_id if self.kind == "pe_resource" else 0
        return _core.address_of(resource, self.rack_id * _SIPS_OF_RACK + self.sip_id, self.cube_id, pe, self.component_offset)

    __int__ = __index__ = encode

    @property
    def hbm_offset(self):
        return self.component_offset if self.kind == "hbm" else None

    @property
    def sram_offset(self):
        return self.component_offset if self.kind == "sram" else None

    # ── like a number ──

    def __eq__(self, other):
        return self.encode() == other.encode() if isinstance(other, PhysAddr) else NotImplemented

    def __lt__(self, other):
        return self.encode() < other.encode() if isinstance(other, PhysAddr) else NotImplemented

    def __hash__(self):
        return hash(self.encode())

    def __str__(self):
        rack = f" rack={self.rack_id}" if self.rack_id else ""
        pe = f" pe={self.pe_id}" if self.kind == "pe_resource" else ""
        return f"{(self.component or self.kind).upper()}{rack} sip={self.sip_id} cube={self.cube_id}{pe} offset={self.component_offset:#x}"

    def __repr__(self):
        return f"PhysAddr({self})"
