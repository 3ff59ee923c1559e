// Transfers whose lanes lie anywhere: what pointer tiles of Triton kernels become.
#include <pybind11/stl.h>
#include <cstring>

#include "kernbench/error.hpp"
#include "python/host.hpp"
#include "python/recording.hpp"

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

/// In how many runs the last transfer goes; 0 if it is strided.
std::size_t last_runs(const PyTl& self) {
  const isa::Program& program = self.recording->context("tl").program();
  return program.run_addresses(program.command(static_cast<isa::CommandIndex>(program.commands().size() - 1)))
      .size();
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
  c.def(
      "begin_instance", [](const PyTl& s) { s.recording->context("tl").begin_instance(); },
      "What follows belongs to another instance of the kernel, in no order with the others.");
}

}  // namespace kernbench::python
