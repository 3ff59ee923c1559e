// Addresses.
//
// A physical address is 51 bits and names a byte somewhere in the machine; the fabric routes by its fields.
// A `PhysAddr` is always legal: it comes from a factory below, from `encode` or from `PhysAddr::from_raw`,
// and each of them throws an `InputError` that shows the offending field. So `decode` of one cannot fail.
//
//   [50:47] rack  [46:43] sip  [42:38] cube  [37:0] local offset    SIP s: rack s / 16, sip field s mod 16
//   local offset: bit 37 = 1 → the cube's HBM window (128 GiB)
//                 bit 37 = 0 → [36:34] unit (0 PE, 1 MCPU, 2 SRAM)  [33:30] pe  [29] ext  [28:0] sub-offset
//
// Reserved, hence errors: units 3 to 7, ext = 1, a pe field in an address of MCPU or SRAM, and the PE's
// sub-offsets beyond the ranges of `Resource`. Offsets and sizes are in bytes.
//
// A virtual address is what kernels compute with; each PE's MMU turns it into physical ones.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <utility>

#include "kernbench/coords.hpp"
#include "kernbench/error.hpp"
#include "kernbench/units.hpp"

namespace kernbench::address {

inline constexpr int kPhysAddrBits = 51;
inline constexpr int kMaxSips = 256;
inline constexpr int kMaxCubes = 32;  // per SIP
inline constexpr int kMaxPes = 16;    // per cube

/// What an address points into. `Hbm`, `Sram` and `Mcpu` belong to a cube, the others to a PE.
enum class Resource {
  Hbm,         // local offset bit 37, 128 GiB
  Sram,        // unit 2, 512 MiB
  Mcpu,        // unit 1, 512 MiB
  Tcm,         // unit 0, sub-offset 0x0000_0000 – 0x0FFF_FFFF
  Ipcq,        //         sub-offset 0x1000_0000 – 0x10FF_FFFF
  Scratchpad,  //         sub-offset 0x1100_0000 – 0x11FF_FFFF
  Regfile,     //         sub-offset 0x1200_0000 – 0x120F_FFFF
  Status,      //         sub-offset 0x1210_0000 – 0x121F_FFFF
};

const char* to_string(Resource resource);  // "HBM", "IPCQ" …
/// The width of the resource's address range: more than any machine need have behind it.
Bytes range_of(Resource resource);
/// Whether addresses of this resource carry a PE.
constexpr bool belongs_to_pe(Resource resource) { return resource >= Resource::Tcm; }

class PhysAddr {
 public:
  constexpr PhysAddr() = default;  // raw 0: the first byte of the TCM of sip0.cube0.pe0
  static PhysAddr from_raw(std::uint64_t raw);

  constexpr std::uint64_t raw() const { return raw_; }
  friend constexpr auto operator<=>(PhysAddr, PhysAddr) = default;

 private:
  constexpr explicit PhysAddr(std::uint64_t raw) : raw_(raw) {}
  friend PhysAddr encode(const struct DecodedAddr& fields);
  friend PhysAddr operator+(PhysAddr a, Bytes n);
  std::uint64_t raw_ = 0;
};

/// The fields of a physical address.
struct DecodedAddr {
  Resource resource = Resource::Tcm;
  int sip = 0;
  int cube = 0;
  int pe = 0;    // 0 unless the resource belongs to a PE
  Bytes offset;  // from the start of the resource's range
  constexpr CubeCoord in_cube() const { return {sip, cube}; }
  constexpr PeCoord at_pe() const { return {sip, cube, pe}; }
  friend constexpr bool operator==(const DecodedAddr&, const DecodedAddr&) = default;
};

PhysAddr encode(const DecodedAddr& fields);
DecodedAddr decode(PhysAddr a);

/// `n` bytes further in the same resource, which it must not leave.
PhysAddr operator+(PhysAddr a, Bytes n);
/// The bytes from `a` to the end of its resource's range.
Bytes room_after(PhysAddr a);

PhysAddr hbm_addr(CubeCoord cube, Bytes offset);
/// The HBM of a cube is cut into one slice per PE, one after the other.
PhysAddr pe_hbm_addr(PeCoord pe, Bytes slice_bytes, Bytes offset);
PhysAddr cube_sram_addr(CubeCoord cube, Bytes offset);
PhysAddr mcpu_addr(CubeCoord cube, Bytes offset);
PhysAddr pe_tcm_addr(PeCoord pe, Bytes offset);
PhysAddr pe_ipcq_addr(PeCoord pe, Bytes offset);
PhysAddr pe_scratchpad_addr(PeCoord pe, Bytes offset);
PhysAddr pe_regfile_addr(PeCoord pe, Bytes offset);
PhysAddr pe_status_addr(PeCoord pe, Bytes offset);

/// As people speak: `IPCQ sip=0 cube=0 pe=3 +0x1234`, `HBM sip=1 cube=5 +0x0`.
std::string to_string(PhysAddr a);
std::string to_string(const DecodedAddr& fields);

/// A virtual address. Any value may be computed; whether it means something the MMU decides.
class VirtAddr {
 public:
  constexpr VirtAddr() = default;
  constexpr explicit VirtAddr(std::uint64_t raw) : raw_(raw) {}
  constexpr std::uint64_t raw() const { return raw_; }

  friend constexpr auto operator<=>(VirtAddr, VirtAddr) = default;
  friend constexpr VirtAddr operator+(VirtAddr a, Bytes n) {
    return VirtAddr(a.raw_ + static_cast<std::uint64_t>(n.count()));
  }
  friend constexpr Bytes operator-(VirtAddr a, VirtAddr b) {
    return Bytes(static_cast<std::int64_t>(a.raw_ - b.raw_));
  }

 private:
  std::uint64_t raw_ = 0;
};

std::string to_string(VirtAddr a);  // `0x100000000`

/// The three memory spaces that data and queue rings can live in.
enum class MemorySpace { Tcm, Sram, Hbm };
const char* to_string(MemorySpace space);  // "tcm", "sram", "hbm", as `buffer_kind` spells them

/// A memory or the virtual space is full. The text says who asked for how much, what is free and who holds
/// it.
class AllocationError : public SimulationError {
 public:
  struct Figures {
    Bytes requested;
    Bytes free;
    Bytes largest_free_block;
  };
  AllocationError(Info info, Figures figures) : SimulationError(std::move(info)), figures_(figures) {}
  const Figures& figures() const { return figures_; }

 private:
  Figures figures_;
};

/// A PE used a virtual address that its MMU does not map.
class MmuFault : public SimulationError {
 public:
  MmuFault(Info info, PeCoord pe, VirtAddr address)
      : SimulationError(std::move(info)), pe_(pe), address_(address) {}
  PeCoord pe() const { return pe_; }
  /// The first byte that is not mapped.
  VirtAddr address() const { return address_; }

 private:
  PeCoord pe_;
  VirtAddr address_;
};

}  // namespace kernbench::address
