// Recorded commands as Python objects, with the attribute names of the prototype beside ours.
#include <fmt/format.h>
#include <pybind11/stl.h>

#include "python/recording.hpp"

namespace kernbench::python {
namespace {

std::int64_t bytes_of(const isa::Operand& operand) {
  return operand.shape.elements() * itemsize(operand.dtype);
}

template <class T>
py::class_<T> define(py::module_& m, const char* name, const char* doc) {
  py::class_<T> c(m, name, doc);
  c.def("__repr__", [](const T& command) { return isa::to_string(isa::AnyCommand(command)); });
  c.def(
      "__eq__", [](const T& a, const T& b) { return a == b; }, py::is_operator());
  return c;
}

void bind_operand(py::module_& m) {
  py::class_<isa::Operand>(m, "Operand", "An operand or result of a command.")
      .def_property_readonly("kind",
                             [](const isa::Operand& o) {
                               switch (o.kind) {
                                 case isa::ValueKind::tile:
                                   return "tile";
                                 case isa::ValueKind::placed:
                                   return "placed";
                                 case isa::ValueKind::view:
                                   return "view";
                                 case isa::ValueKind::scalar:
                                   return "scalar";
                                 case isa::ValueKind::reference:
                                   return "reference";
                               }
                               return "";
                             })
      .def_readonly("id", &isa::Operand::id)
      .def_readonly("dtype", &isa::Operand::dtype)
      .def_readonly("shape", &isa::Operand::shape)
      .def_readonly("scalar", &isa::Operand::scalar)
      .def_readonly("address", &isa::Operand::address)
      .def_property_readonly("nbytes", &bytes_of)
      .def("__repr__", [](const isa::Operand& o) { return isa::to_string(o); })
      .def(
          "__eq__", [](const isa::Operand& a, const isa::Operand& b) { return a == b; }, py::is_operator());
}

void bind_memory(py::module_& m) {
  define<isa::DmaRead>(m, "DmaRead", "Memory to a tile.")
      .def_readonly("address", &isa::DmaRead::address)
      .def_readonly("src_addr", &isa::DmaRead::address)
      .def_readonly("result", &isa::DmaRead::result)
      .def_readonly("strides", &isa::DmaRead::strides)
      .def_readonly("other", &isa::DmaRead::other)
      .def_property_readonly("nbytes", [](const isa::DmaRead& c) { return bytes_of(c.result); })
      .def_property_readonly("shape", [](const isa::DmaRead& c) { return c.result.shape; })
      .def_property_readonly("dtype", [](const isa::DmaRead& c) { return c.result.dtype; });
  define<isa::DmaWrite>(m, "DmaWrite", "A tile to memory.")
      .def_readonly("address", &isa::DmaWrite::address)
      .def_readonly("dst_addr", &isa::DmaWrite::address)
      .def_readonly("tile", &isa::DmaWrite::tile)
      .def_readonly("strides", &isa::DmaWrite::strides)
      .def_property_readonly("nbytes", [](const isa::DmaWrite& c) { return bytes_of(c.tile); })
      .def_property_readonly("shape", [](const isa::DmaWrite& c) { return c.tile.shape; })
      .def_property_readonly("dtype", [](const isa::DmaWrite& c) { return c.tile.dtype; });
  define<isa::Atomic>(m, "Atomic", "A tile combined with what lies in memory.")
      .def_readonly("address", &isa::Atomic::address)
      .def_readonly("tile", &isa::Atomic::tile)
      .def_readonly("strides", &isa::Atomic::strides)
      .def_property_readonly("op", [](const isa::Atomic& c) { return std::string(to_string(c.op)); })
      .def_property_readonly("nbytes", [](const isa::Atomic& c) { return bytes_of(c.tile); })
      .def_property_readonly("shape", [](const isa::Atomic& c) { return c.tile.shape; })
      .def_property_readonly("dtype", [](const isa::Atomic& c) { return c.tile.dtype; });
  define<isa::LoadScalar>(m, "LoadScalar", "A number that the kernel waits for.")
      .def_readonly("address", &isa::LoadScalar::address)
      .def_readonly("dtype", &isa::LoadScalar::dtype);
}

void bind_compute(py::module_& m) {
  define<isa::Gemm>(m, "Gemm", "result = a · b (+ acc).")
      .def_readonly("a", &isa::Gemm::a)
      .def_readonly("b", &isa::Gemm::b)
      .def_readonly("acc", &isa::Gemm::acc)
      .def_readonly("result", &isa::Gemm::result)
      .def_property_readonly("m", [](const isa::Gemm& c) { return c.a.shape[0]; })
      .def_property_readonly("k", [](const isa::Gemm& c) { return c.a.shape[1]; })
      .def_property_readonly("n", [](const isa::Gemm& c) { return c.b.shape[1]; });
  define<isa::Math>(m, "Math", "result = op(operands).")
      .def_property_readonly("op", [](const isa::Math& c) { return std::string(to_string(c.op)); })
      .def_readonly("operands", &isa::Math::operands)
      .def_readonly("result", &isa::Math::result)
      .def_readonly("axis", &isa::Math::axis);
  py::class_<isa::Epilogue>(m, "Epilogue", "A step after the product of a composite.")
      .def_property_readonly("op", [](const isa::Epilogue& e) { return std::string(to_string(e.op)); })
      .def_property_readonly("point",
                             [](const isa::Epilogue& e) {
                               return e.point == isa::EpiloguePoint::per_k_step ? "per_k_step"
                                                                                : "per_output_tile";
                             })
      .def_readonly("operand", &isa::Epilogue::operand);
  define<isa::Composite>(m, "Composite", "out = a · b, streamed tile by tile.")
      .def_property_readonly("op", [](const isa::Composite& c) { return std::string(to_string(c.op)); })
      .def_readonly("a", &isa::Composite::a)
      .def_readonly("b", &isa::Composite::b)
      .def_readonly("out", &isa::Composite::out)
      .def_readonly("epilogue", &isa::Composite::epilogue);
}

void bind_queues(py::module_& m) {
  define<isa::IpcqSend>(m, "IpcqSend", "A tile to the neighbour in a direction.")
      .def_readonly("direction", &isa::IpcqSend::direction)
      .def_readonly("tile", &isa::IpcqSend::tile)
      .def_property_readonly("nbytes", [](const isa::IpcqSend& c) { return bytes_of(c.tile); })
      .def_property_readonly("shape", [](const isa::IpcqSend& c) { return c.tile.shape; })
      .def_property_readonly("dtype", [](const isa::IpcqSend& c) { return c.tile.dtype; });
  define<isa::IpcqRecv>(m, "IpcqRecv", "The oldest message from a direction; None: from any.")
      .def_property_readonly("direction",
                             [](const isa::IpcqRecv& c) -> py::object {
                               if (c.direction.empty()) return py::none();
                               return py::str(c.direction);
                             })
      .def_readonly("result", &isa::IpcqRecv::result)
      .def_readonly("is_async", &isa::IpcqRecv::is_async)
      .def_property_readonly("nbytes", [](const isa::IpcqRecv& c) { return bytes_of(c.result); })
      .def_property_readonly("shape", [](const isa::IpcqRecv& c) { return c.result.shape; })
      .def_property_readonly("dtype", [](const isa::IpcqRecv& c) { return c.result.dtype; });
  define<isa::Wait>(m, "Wait", "Issue holds until a command has retired.")
      .def_readonly("command", &isa::Wait::command);
  define<isa::Fence>(m, "Fence", "Issue holds until every earlier command has retired.");
}

}  // namespace

void bind_commands(py::module_& m) {
  bind_operand(m);
  bind_memory(m);
  bind_compute(m);
  bind_queues(m);
}

py::list commands_of(const tl::Context& context) {
  py::list commands;
  for (const auto& command : context.commands())
    std::visit([&](const auto& one) { commands.append(py::cast(one)); },
               static_cast<const isa::AnyCommandBase&>(command));
  return commands;
}

}  // namespace kernbench::python
