#include <fmt/format.h>

#include <array>

#include "kernbench/address.hpp"

namespace kernbench::address {
namespace {

constexpr int kSipShift = 43;  // rack and sip field are neighbours: together they hold rack · 16 + sip = s
constexpr int kCubeShift = 38;
constexpr int kHbmBit = 37;
constexpr int kUnitShift = 34;
constexpr int kPeShift = 30;
constexpr int kExtBit = 29;
constexpr std::uint64_t kSubOffsets = std::uint64_t{1} << kExtBit;

enum Unit : std::uint64_t { kPe = 0, kMcpu = 1, kSram = 2 };
constexpr std::uint64_t kUnits = 3;

/// Where a resource lies among the local offsets of a cube (for PE 0, where there is one per PE).
struct Range {
  const char* name;
  std::uint64_t base;
  std::uint64_t size;
};

constexpr std::array<Range, 8> kRanges = {{
    {"HBM", std::uint64_t{1} << kHbmBit, std::uint64_t{1} << kHbmBit},
    {"SRAM", kSram << kUnitShift, kSubOffsets},
    {"MCPU", kMcpu << kUnitShift, kSubOffsets},
    {"TCM", 0x0000'0000, 0x1000'0000},
    {"IPCQ", 0x1000'0000, 0x0100'0000},
    {"SCRATCHPAD", 0x1100'0000, 0x0100'0000},
    {"REGFILE", 0x1200'0000, 0x0010'0000},
    {"STATUS", 0x1210'0000, 0x0010'0000},
}};
constexpr std::uint64_t kPeRangesEnd = 0x1220'0000;  // the ranges of a PE leave no gaps up to here

constexpr const Range& range(Resource r) { return kRanges[static_cast<std::size_t>(r)]; }

constexpr std::uint64_t bits(std::uint64_t raw, int shift, int width) {
  return (raw >> shift) & ((std::uint64_t{1} << width) - 1);
}

[[noreturn]] void refuse_raw(std::uint64_t raw, const char* id, std::string what, const char* hint) {
  throw InputError(
      {.id = id, .where = fmt::format("address {:#x}", raw), .what = std::move(what), .hint = hint});
}

constexpr const char* kUseFactories = "build addresses with hbm_addr, pe_tcm_addr and the other factories";

/// Refuses what bits [36:29] of a non-HBM address may not hold.
void check_unit_fields(std::uint64_t raw, std::uint64_t unit, std::uint64_t pe) {
  if (unit >= kUnits) {
    refuse_raw(
        raw, "address.reserved-unit",
        fmt::format("unit {} in bits [36:34] is reserved; expected 0 (PE), 1 (MCPU) or 2 (SRAM)", unit),
        kUseFactories);
  }
  if (bits(raw, kExtBit, 1) != 0) {
    refuse_raw(raw, "address.reserved-ext", "bit 29 (ext) is reserved; expected 0", kUseFactories);
  }
  if (unit != kPe && pe != 0) {
    refuse_raw(raw, "address.reserved-pe",
               fmt::format("{} belongs to the cube, but bits [33:30] name PE {}; expected 0",
                           unit == kSram ? "SRAM" : "MCPU", pe),
               "use cube_sram_addr or mcpu_addr with the cube's coordinates");
  }
}

Resource pe_resource(std::uint64_t raw, std::uint64_t sub_offset) {
  if (sub_offset >= kPeRangesEnd) {
    refuse_raw(
        raw, "address.reserved-range",
        fmt::format("PE sub-offset {:#x} is reserved; expected less than {:#x} (TCM, IPCQ, scratchpad, "
                    "register file, status)",
                    sub_offset, kPeRangesEnd),
        kUseFactories);
  }
  Resource r = Resource::Tcm;
  while (sub_offset >= range(r).base + range(r).size) r = static_cast<Resource>(static_cast<int>(r) + 1);
  return r;
}

Resource resource_of(std::uint64_t raw) {
  if (raw >> kPhysAddrBits != 0) {
    refuse_raw(raw, "address.over-51-bits",
               "a physical address has 51 bits; expected less than 0x8000000000000",
               "a virtual address or a negative number may have been taken for a physical address");
  }
  if (bits(raw, kHbmBit, 1) != 0) return Resource::Hbm;
  const std::uint64_t unit = bits(raw, kUnitShift, 3);
  check_unit_fields(raw, unit, bits(raw, kPeShift, 4));
  if (unit != kPe) return unit == kSram ? Resource::Sram : Resource::Mcpu;
  return pe_resource(raw, bits(raw, 0, kExtBit));
}

void check_field(const DecodedAddr& f, const char* name, std::int64_t value, std::int64_t limit,
                 const char* hint) {
  if (value >= 0 && value < limit) return;
  throw InputError(
      {.id = fmt::format("address.{}-out-of-range", name),
       .where = to_string(f),
       .what = fmt::format("{} {} does not fit its address field; expected 0 to {}", name, value, limit - 1),
       .hint = hint});
}

}  // namespace

const char* to_string(Resource resource) { return range(resource).name; }
Bytes range_of(Resource resource) { return Bytes(static_cast<std::int64_t>(range(resource).size)); }

const char* to_string(MemorySpace space) {
  constexpr std::array<const char*, 3> kNames = {"tcm", "sram", "hbm"};
  return kNames[static_cast<std::size_t>(space)];
}

PhysAddr PhysAddr::from_raw(std::uint64_t raw) {
  resource_of(raw);
  return PhysAddr(raw);
}

PhysAddr encode(const DecodedAddr& f) {
  check_field(f, "sip", f.sip, kMaxSips, "a machine has at most 256 SIPs: 16 racks of 16");
  check_field(f, "cube", f.cube, kMaxCubes, "a SIP has at most 32 cubes");
  check_field(f, "pe", f.pe, belongs_to_pe(f.resource) ? kMaxPes : 1,
              belongs_to_pe(f.resource) ? "a cube has at most 16 PEs" : "this resource belongs to the cube");
  check_field(f, "offset", f.offset.count(), range_of(f.resource).count(),
              "offsets count from the start of the resource, in bytes");
  return PhysAddr((static_cast<std::uint64_t>(f.sip) << kSipShift) |
                  (static_cast<std::uint64_t>(f.cube) << kCubeShift) |
                  (static_cast<std::uint64_t>(f.pe) << kPeShift) |
                  (range(f.resource).base + static_cast<std::uint64_t>(f.offset.count())));
}

DecodedAddr decode(PhysAddr a) {
  const std::uint64_t raw = a.raw();
  const Resource resource = resource_of(raw);
  const bool of_pe = belongs_to_pe(resource);
  const std::uint64_t local = of_pe ? bits(raw, 0, kExtBit) : bits(raw, 0, kCubeShift);
  return {.resource = resource,
          .sip = static_cast<int>(bits(raw, kSipShift, 8)),
          .cube = static_cast<int>(bits(raw, kCubeShift, 5)),
          .pe = of_pe ? static_cast<int>(bits(raw, kPeShift, 4)) : 0,
          .offset = Bytes(static_cast<std::int64_t>(local - range(resource).base))};
}

PhysAddr operator+(PhysAddr a, Bytes n) {
  const DecodedAddr f = decode(a);
  const Bytes offset = f.offset + n;
  KB_ASSERT(offset >= 0_B && offset < range_of(f.resource), "{} plus {} B leaves the {}", to_string(f),
            n.count(), to_string(f.resource));
  return PhysAddr(a.raw() + static_cast<std::uint64_t>(n.count()));
}

Bytes room_after(PhysAddr a) {
  const DecodedAddr f = decode(a);
  return range_of(f.resource) - f.offset;
}

PhysAddr hbm_addr(CubeCoord cube, Bytes offset) {
  return encode({Resource::Hbm, cube.sip, cube.cube, 0, offset});
}

PhysAddr pe_hbm_addr(PeCoord pe, Bytes slice_bytes, Bytes offset) {
  const DecodedAddr slice{Resource::Hbm, pe.sip, pe.cube, 0, offset};
  check_field(slice, "pe", pe.pe, kMaxPes, "a cube has at most 16 PEs");
  check_field(slice, "slice", slice_bytes.count(), range_of(Resource::Hbm).count() / (pe.pe + 1) + 1,
              "the slices of all PEs lie in one HBM window of 128 GiB");
  check_field(slice, "offset", offset.count(), slice_bytes.count(),
              "the offset counts from the start of the PE's slice");
  return hbm_addr(pe.in_cube(), slice_bytes * pe.pe + offset);
}

PhysAddr cube_sram_addr(CubeCoord cube, Bytes offset) {
  return encode({Resource::Sram, cube.sip, cube.cube, 0, offset});
}
PhysAddr mcpu_addr(CubeCoord cube, Bytes offset) {
  return encode({Resource::Mcpu, cube.sip, cube.cube, 0, offset});
}
PhysAddr pe_tcm_addr(PeCoord pe, Bytes offset) {
  return encode({Resource::Tcm, pe.sip, pe.cube, pe.pe, offset});
}
PhysAddr pe_ipcq_addr(PeCoord pe, Bytes offset) {
  return encode({Resource::Ipcq, pe.sip, pe.cube, pe.pe, offset});
}
PhysAddr pe_scratchpad_addr(PeCoord pe, Bytes offset) {
  return encode({Resource::Scratchpad, pe.sip, pe.cube, pe.pe, offset});
}
PhysAddr pe_regfile_addr(PeCoord pe, Bytes offset) {
  return encode({Resource::Regfile, pe.sip, pe.cube, pe.pe, offset});
}
PhysAddr pe_status_addr(PeCoord pe, Bytes offset) {
  return encode({Resource::Status, pe.sip, pe.cube, pe.pe, offset});
}

std::string to_string(PhysAddr a) { return to_string(decode(a)); }

std::string to_string(const DecodedAddr& f) {
  const std::string pe = belongs_to_pe(f.resource) ? fmt::format(" pe={}", f.pe) : "";
  return fmt::format("{} sip={} cube={}{} {:+#x}", to_string(f.resource), f.sip, f.cube, pe,
                     f.offset.count());
}

std::string to_string(VirtAddr a) { return fmt::format("{:#x}", a.raw()); }

}  // namespace kernbench::address
