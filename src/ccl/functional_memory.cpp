#include "ccl/functional_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "data/numerics/blocks.hpp"
#include "isa/transfer.hpp"
#include "kernbench/error.hpp"

namespace kernbench::ccl {
namespace {

constexpr Bytes kSlice = 8_GiB;  // of a PE
constexpr std::int64_t kAlign =
    4096;  // the first of a row begins on a page, with a page nobody owns before it

Bytes next_place(Bytes end) { return Bytes((end.count() / kAlign + 2) * kAlign); }

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

FunctionalMemory::FunctionalMemory(const FunctionalWorld& world)
    : common_pointers_(world.common_pointers), tensors_(world.ranks.size()) {
  std::size_t most = 0;
  for (const auto& tensors : world.tensors) most = std::max(most, tensors.size());
  const auto base = address::pe_hbm_addr({0, 0, 0}, kSlice, Bytes(0));
  Bytes offset(kAlign);
  for (std::size_t t = 0; t < most; ++t, offset = next_place(offset))
    for (std::size_t r = 0; r < world.ranks.size(); ++r) {
      if (t >= world.tensors[r].size()) continue;
      const auto& content = world.tensors[r][t];
      const Bytes size(static_cast<std::int64_t>(content.bytes().size()));
      tensors_[r].push_back({base + offset, content.dtype(), content.shape(), size});
      store_.write(base + offset, content.bytes());
      offset += size;
    }
}

bool FunctionalMemory::Tensor::holds(std::uint64_t address, std::int64_t bytes) const {
  return address >= at.raw() && address + index(bytes) <= at.raw() + index(size.count());
}

std::vector<tl::Ptr> FunctionalMemory::pointers(int rank) const {
  std::vector<tl::Ptr> out;
  for (const auto& t : tensors_[index(common_pointers_ ? 0 : rank)]) out.emplace_back(t.at.raw(), t.dtype);
  return out;
}

std::vector<tl::Shard> FunctionalMemory::shards(int rank) const {
  std::vector<tl::Shard> out;
  const auto given = pointers(rank);
  for (const auto& t : tensors_[index(rank)]) {
    const std::vector<std::int64_t> origin(index(t.shape.rank()));
    out.push_back({.tensor = out.size() < given.size() ? given[out.size()] : tl::Ptr(t.at.raw(), t.dtype),
                   .ptr = tl::Ptr(t.at.raw(), t.dtype),
                   .shape = t.shape,
                   .origin = Shape(origin),
                   .dtype = t.dtype,
                   .name = fmt::format("tensor {}", out.size())});
  }
  return out;
}

std::vector<NdArray> FunctionalMemory::tensors(int rank) const {
  std::vector<NdArray> out;
  for (const auto& t : tensors_[index(rank)]) {
    NdArray content(t.dtype, t.shape);
    store_.read(t.at, content.bytes());
    out.push_back(std::move(content));
  }
  return out;
}

data::Piece FunctionalMemory::piece(std::uint64_t address, std::int64_t bytes, std::int64_t offset,
                                    const Access& access) {
  const auto& tensors = tensors_[index(access.rank)];
  const auto holds = [&](const Tensor& t) { return t.holds(address, bytes); };
  if (!std::ranges::any_of(tensors, holds))
    throw SimulationError({.id = "functional.memory",
                           .where = access.where(),
                           .what = fmt::format("{} at {:#x} lie in no tensor of rank {}",
                                               to_string(Bytes(bytes)), address, access.rank),
                           .hint = "here a rank has its own tensors only; others are reached by queues"});
  return {offset, bytes, address::PhysAddr::from_raw(address)};
}

data::Pieces FunctionalMemory::of_dma(const isa::Program& program, const isa::Command& dma,
                                      const Access& access) {
  data::Pieces out;
  const auto size = itemsize(program.value(program.moved(dma)).dtype);
  isa::for_each_segment(program, dma, [&](const isa::Segment& s) {
    out.push_back(piece(s.address, s.elements * size, s.lane * size, access));
  });
  return out;
}

data::Pieces FunctionalMemory::of_reference(const isa::Program& program, isa::ValueId reference,
                                            const Access& access) {
  data::Pieces out;
  const auto size = itemsize(program.value(reference).dtype);
  isa::for_each_segment(program, reference, [&](const isa::Segment& s) {
    out.push_back(piece(s.address, s.elements * size, s.lane * size, access));
  });
  return out;
}

data::Pieces FunctionalMemory::of_range(std::uint64_t address, Bytes size, const Access& access) {
  if (size == 0_B) return {};
  return {piece(address, size.count(), 0, access)};
}

double FunctionalMemory::number(std::uint64_t address, DType dtype, const Access& access) {
  alignas(8) std::array<std::byte, 8> bytes{};
  data::copy_out(store_, of_range(address, Bytes(itemsize(dtype)), access),
                 std::span(bytes).first(index(itemsize(dtype))));
  if (is_float(dtype)) {
    float value = 0;
    data::load(dtype, bytes.data(), 1, &value);
    return static_cast<double>(value);
  }
  return data::with_int_type(dtype, [&](auto value) {
    data::load(dtype, bytes.data(), 1, &value);
    return static_cast<double>(value);
  });
}

}  // namespace kernbench::ccl
