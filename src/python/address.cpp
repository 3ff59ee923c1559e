// Physical addresses, allocators and an MMU for programs that place things themselves.
#include <fmt/format.h>
#include <pybind11/stl.h>

#include "address/mmu_map.hpp"
#include "address/range_allocator.hpp"
#include "base/text.hpp"
#include "kernbench/address.hpp"
#include "python/host.hpp"

namespace kernbench::python {
namespace {

using address::DecodedAddr;
using address::PhysAddr;
using address::Resource;

constexpr std::pair<const char*, Resource> kResources[] = {
    {"hbm", Resource::Hbm},         {"sram", Resource::Sram},     {"mcpu", Resource::Mcpu},
    {"tcm", Resource::Tcm},         {"ipcq", Resource::Ipcq},     {"scratchpad", Resource::Scratchpad},
    {"regfile", Resource::Regfile}, {"status", Resource::Status},
};

Resource resource_of(const std::string& name) {
  for (const auto& [known, resource] : kResources)
    if (name == known) return resource;
  std::vector<std::string> names;
  for (const auto& [known, resource] : kResources) names.emplace_back(known);
  throw InputError(
      {"address.resource", "", fmt::format("there is no memory '{}'", name), "name one of " + join(names)});
}

/// (resource, sip, cube, pe, offset); the SIP counts over all racks.
py::tuple fields_of(std::uint64_t raw) {
  const DecodedAddr fields = address::decode(PhysAddr::from_raw(raw));
  const auto* const name =
      std::ranges::find(kResources, fields.resource, &std::pair<const char*, Resource>::second);
  return py::make_tuple(name->first, fields.sip, fields.cube, fields.pe, fields.offset.count());
}

std::uint64_t encoded(const std::string& resource, int sip, int cube, int pe, std::int64_t offset) {
  return address::encode({resource_of(resource), sip, cube, pe, Bytes(offset)}).raw();
}

void bind_allocator(py::module_& m) {
  using address::RangeAllocator;
  py::class_<RangeAllocator>(m, "RangeAllocator", "Hands out byte ranges of one memory, best fit.")
      .def(py::init([](std::int64_t capacity, std::int64_t granule) {
             return RangeAllocator(Bytes(capacity), Bytes(granule));
           }),
           py::arg("capacity"), py::arg("granule") = 1)
      .def(
          "allocate",
          [](RangeAllocator& a, std::int64_t nbytes, const std::string& owner, const std::string& place) {
            const address::AllocRequest request{Bytes(nbytes), owner};
            const auto offset = a.allocate(request);
            if (!offset) throw a.exhausted(request, place, "free something, or ask for less");
            return offset->count();
          },
          py::arg("nbytes"), py::arg("owner"), py::arg("place"))
      .def(
          "free", [](RangeAllocator& a, std::int64_t offset) { a.free(Bytes(offset)); }, py::arg("offset"))
      .def_property_readonly("free_bytes", [](const RangeAllocator& a) { return a.free_bytes().count(); });
}

void bind_mmu(py::module_& m) {
  using address::MmuMap;
  using address::VirtAddr;
  py::class_<MmuMap>(m, "MmuMap", "Which virtual bytes are which physical bytes.")
      .def(py::init([] { return MmuMap({}); }))
      .def(
          "insert",
          [](MmuMap& map, std::uint64_t va, std::uint64_t pa, std::int64_t nbytes) {
            map.erase(VirtAddr(va), Bytes(nbytes));
            map.insert(VirtAddr(va), {PhysAddr::from_raw(pa), Bytes(nbytes)}, fmt::format("{:#x}", pa));
          },
          py::arg("va"), py::arg("pa"), py::arg("nbytes"))
      .def(
          "erase",
          [](MmuMap& map, std::uint64_t va, std::int64_t nbytes) {
            return map.erase(VirtAddr(va), Bytes(nbytes)).count();
          },
          py::arg("va"), py::arg("nbytes"))
      .def(
          "translate", [](const MmuMap& map, std::uint64_t va) { return map.translate(VirtAddr(va)).raw(); },
          py::arg("va"));
}

}  // namespace

void bind_address(py::module_& m) {
  m.def("address_fields", &fields_of, py::arg("raw"));
  m.def("address_of", &encoded, py::arg("resource"), py::arg("sip"), py::arg("cube"), py::arg("pe"),
        py::arg("offset"));
  m.def(
      "address_room", [](std::uint64_t raw) { return address::room_after(PhysAddr::from_raw(raw)).count(); },
      py::arg("raw"));
  bind_allocator(m);
  bind_mmu(m);
}

}  // namespace kernbench::python
