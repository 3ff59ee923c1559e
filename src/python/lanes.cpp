// Transfers whose lanes lie anywhere: what pointer tiles of Triton kernels become.
#include <pybind11/stl.h>

#include <algorithm>
#include <cstring>

#include "isa/transfer.hpp"
#include "kernbench/error.hpp"
#include "python/host.hpp"
#include "python/recording.hpp"
#include "runtime/engine.hpp"
#include "tl/byte_owners.hpp"

namespace kernbench::python {
namespace {

using Addresses = py::array_t<std::uint64_t, py::array::c_style>;
using Flags = py::array_t<std::uint8_t, py::array::c_style>;

/// The lanes that two arrays describe, which must outlive it.
tl::Lanes lanes_of(const Addresses& addresses, const std::optional<Flags>& on) {
  tl::Lanes lanes{.addresses = {addresses.data(), static_cast<std::size_t>(addresses.size())}};
  if (on) lanes.on = {on->data(), static_cast<std::size_t>(on->size())};
  return lanes;
}

PyTile load_at(const PyTl& self, const Addresses& addresses, const tl::Dims& shape, DType dtype,
               const std::optional<Flags>& on, double other) {
  return {self.recording, self.recording->at_line().load_at(lanes_of(addresses, on), shape, dtype, other)};
}

PyOp store_at(const PyTl& self, const Addresses& addresses, const PyTile& tile,
              const std::optional<Flags>& on) {
  return {self.recording, self.recording->at_line().store_at(lanes_of(addresses, on), tile.get())};
}

/// May have to wait for an earlier launch, as load_scalar does.
py::array peek(const PyTl& self, const Addresses& addresses, DType dtype, const std::optional<Flags>& on) {
  tl::Context& tl = self.recording->at_line();
  const tl::Lanes lanes = lanes_of(addresses, on);
  const auto read = [&] { return tl.peek(lanes, dtype); };
  Host* const host = self.recording->host();
  const std::vector<std::byte> bytes = host != nullptr ? host->work(read) : read();
  NdArray array(dtype, Shape{static_cast<std::int64_t>(addresses.size())});
  std::memcpy(array.bytes().data(), bytes.data(), bytes.size());
  return to_numpy(std::move(array));
}

bool is_transfer(const isa::Command& c) {
  return c.kind == isa::CommandKind::dma_read || c.kind == isa::CommandKind::dma_write ||
         c.kind == isa::CommandKind::atomic;
}

const isa::Command& last_transfer_of(const isa::Program& program) {
  for (auto i = program.commands().size(); i-- > 0;)
    if (const auto& c = program.command(static_cast<isa::CommandIndex>(i)); is_transfer(c)) return c;
  throw InputError({"tl.last_transfer", "", "no transfer has been recorded yet", "load or store first"});
}

/// Neighbouring bytes in memory.
struct ByteRun {
  std::uint64_t begin, end;
};

/// What a PE asks memory for: the runs of a transfer; lanes with places of their own from the lowest address to the
/// highest, neighbours as one.
std::vector<ByteRun> runs_of(const isa::Program& program, const isa::Command& c) {
  const bool merges = !program.run_addresses(c).empty() && c.kind != isa::CommandKind::atomic;
  const int size = itemsize(program.value(program.moved(c)).dtype);
  std::vector<ByteRun> runs, merged;
  isa::for_each_segment(program, c, [&](const isa::Segment& s) {
    runs.push_back({s.address, s.address + static_cast<std::uint64_t>(s.elements * size)});
  });
  if (!merges) return runs;
  std::ranges::stable_sort(runs, {}, &ByteRun::begin);
  for (const ByteRun run : runs)
    if (!merged.empty() && merged.back().end == run.begin)
      merged.back().end = run.end;
    else
      merged.push_back(run);
  return merged;
}

/// How much a memory that serves whole bursts moves for them.
std::int64_t burst_bytes(const runtime::Engine& engine, PeCoord pe, const std::vector<ByteRun>& runs,
                         bool scattered) {
  const std::int64_t burst = engine.machine().at("cube.hbm").bytes("burst_bytes").count();
  const auto bytes_between = [](std::uint64_t begin, std::uint64_t end) {
    return Bytes(static_cast<std::int64_t>(end - begin));
  };
  std::vector<address::PhysPiece> pieces;
  const auto find = [&](std::uint64_t begin, std::uint64_t end) {
    return engine.find_memory(pe, address::VirtAddr(begin), bytes_between(begin, end), pieces);
  };
  std::int64_t asked = 0, moved = 0;
  for (const ByteRun run : runs) asked += bytes_between(run.begin, run.end).count();
  const bool side_by_side = !scattered && runs.size() > 1 && !engine.machine().gathers();
  if (side_by_side && find(runs.front().begin, runs.back().end) && pieces.size() == 1)
    return (asked + burst - 1) / burst * burst;
  for (const ByteRun run : runs) {
    if (!find(run.begin, run.end)) continue;
    for (const address::PhysPiece& piece : pieces) {
      const address::DecodedAddr at = address::decode(piece.begin);
      const std::int64_t first = at.offset.count() / burst, last = at.offset.count() + piece.size.count() - 1;
      moved +=
          at.resource == address::Resource::Hbm ? (last / burst - first + 1) * burst : piece.size.count();
    }
  }
  return moved;
}

/// How the last transfer goes: how many runs of memory its scattered lanes touch (0: it is strided), how many bytes were
/// asked for, and how many memory moves for them.
std::tuple<std::size_t, std::int64_t, std::int64_t> last_transfer(const PyTl& self) {
  const isa::Program& program = self.recording->context("tl").program();
  const isa::Command& c = last_transfer_of(program);
  const auto runs = runs_of(program, c);
  const std::int64_t asked = program.masked(c)
                                 ? program.active_lanes(c) * itemsize(program.value(program.moved(c)).dtype)
                                 : program.bytes(program.moved(c)).count();
  const bool scattered = !program.run_addresses(c).empty();
  Host* const host = self.recording->host();
  const std::int64_t moved =
      host == nullptr ? asked : burst_bytes(host->torch().engine(), program.pe(), runs, scattered);
  return {scattered ? runs.size() : 0, asked, moved};
}

/// Before the runs are put in the order of memory.
std::size_t last_runs(const PyTl& self) {
  const isa::Program& program = self.recording->context("tl").program();
  return program.run_addresses(last_transfer_of(program)).size();
}

void add_access(tl::ByteOwners& self, const Addresses& addresses, const std::optional<Flags>& on,
                int itemsize, std::uint32_t program, std::uint32_t number) {
  self.add(lanes_of(addresses, on), itemsize, {program, number});
}

std::optional<std::uint32_t> other_access(const tl::ByteOwners& self, const Addresses& addresses,
                                          const std::optional<Flags>& on, int itemsize,
                                          std::uint32_t program) {
  const auto found = self.other(lanes_of(addresses, on), itemsize, program);
  return found ? std::optional(found->number) : std::nullopt;
}

MathOp atomic_op(const std::string& name) {
  const std::pair<const char*, MathOp> ops[] = {{"add", MathOp::add},     {"max", MathOp::maximum},
                                                {"min", MathOp::minimum}, {"and", MathOp::bit_and},
                                                {"or", MathOp::bit_or},   {"xor", MathOp::bit_xor}};
  for (const auto& [known, op] : ops)
    if (name == known) return op;
  throw InputError({"tl.atomic", "", "unknown atomic '" + name + "'", "known: add, max, min, and, or, xor"});
}

PyOp atomic_at(const PyTl& self, const std::string& op, const Addresses& addresses, const PyTile& tile,
               const std::optional<Flags>& on) {
  return {self.recording,
          self.recording->at_line().atomic_at(atomic_op(op), lanes_of(addresses, on), tile.get())};
}

}  // namespace

void bind_byte_owners(py::module_& m) {
  py::class_<tl::ByteOwners>(m, "ByteOwners", "Which programs of a launch touched which bytes.")
      .def(py::init<>())
      .def("add", &add_access, py::arg("addresses"), py::arg("on"), py::arg("itemsize"), py::arg("program"),
           py::arg("number"), "Remembers an access of a program, under a number of the caller's.")
      .def("other", &other_access, py::arg("addresses"), py::arg("on"), py::arg("itemsize"),
           py::arg("program"), "The number of an access of another program to one of these bytes, or None.");
}

void bind_lanes(py::class_<PyTl>& c) {
  c.def("load_at", &load_at, py::arg("addresses"), py::arg("shape"), py::arg("dtype"),
        py::arg("on") = py::none(), py::arg("other") = 0.0,
        "A tile whose lanes lie anywhere: an address in bytes for each, and which are on. Affine addresses "
        "are one "
        "strided transfer.");
  c.def("store_at", &store_at, py::arg("addresses"), py::arg("tile"), py::arg("on") = py::none());
  c.def("peek", &peek, py::arg("addresses"), py::arg("dtype"), py::arg("on") = py::none(),
        "The numbers that lie there when the launch begins. It records nothing.");
  c.def(
      "atomic",
      [](const PyTl& s, const std::string& op, py::handle ptr, const PyTile& tile) {
        return PyOp{s.recording, s.recording->at_line().atomic(atomic_op(op), ptr_of(ptr), tile.get())};
      },
      py::arg("op"), py::arg("ptr"), py::arg("tile"),
      "Combines a tile with memory: add, max, min; of integers and, or, xor. A read and a write.");
  c.def("atomic_at", &atomic_at, py::arg("op"), py::arg("addresses"), py::arg("tile"),
        py::arg("on") = py::none(),
        "The same for lanes that lie anywhere, also several on one place: each of them counts.");
  c.def("last_runs", &last_runs, "In how many runs the last transfer goes; 0 if it is strided.");
  c.def("last_transfer", &last_transfer,
        "(in how many runs the last transfer goes, 0 if it is strided; bytes asked for; bytes that memory "
        "moves).");
  c.def(
      "begin_instance", [](const PyTl& s) { s.recording->context("tl").begin_instance(); },
      "What follows belongs to another instance of the kernel, in no order with the others.");
}

}  // namespace kernbench::python
