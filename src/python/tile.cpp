// Tiles as Python sees them: operators, slicing, shape, dtype.
#include <fmt/format.h>
#include <pybind11/operators.h>

#include "kernbench/error.hpp"
#include "python/recording.hpp"

namespace kernbench::python {

PyTile loaded(const PyTensorHandle& handle) {
  const auto recording = Recording::current();
  if (!recording || recording->is_over())
    throw py::type_error("a TensorHandle is used as a tile, but no kernel is being recorded");
  return {recording, recording->at_line().load(tl::Ptr(handle.addr), tl::Dims(handle.shape), handle.dtype)};
}

tl::Operand operand_of(py::handle value) {
  if (py::isinstance<PyTile>(value)) return tl::Operand(value.cast<const PyTile&>().get());
  if (py::isinstance<PyTensorHandle>(value))
    return tl::Operand(loaded(value.cast<const PyTensorHandle&>()).tile);
  tl::Operand number;
  if (!number_of(value, number))
    throw py::type_error(
        fmt::format("an operand is a tile or a number, not {}", Py_TYPE(value.ptr())->tp_name));
  return number;
}

namespace {

std::int64_t bound(PyObject* value, std::int64_t fallback) {
  if (value == Py_None) return fallback;
  const Py_ssize_t number = PyNumber_AsSsize_t(value, PyExc_IndexError);
  if (number == -1 && PyErr_Occurred()) throw py::error_already_set();
  return number;
}

tl::Slice slice_of(py::handle part) {
  if (PySlice_Check(part.ptr())) {
    const auto* s = reinterpret_cast<PySliceObject*>(part.ptr());
    return {bound(s->start, 0), bound(s->stop, tl::Slice::kEnd), bound(s->step, 1), false};
  }
  if (!PyIndex_Check(part.ptr()))
    throw py::type_error(
        fmt::format("a tile or tensor is indexed with ints, slices, None and ..., not {}; "
                    "an index must be known while the kernel is recorded",
                    Py_TYPE(part.ptr())->tp_name));
  return tl::index(bound(part.ptr(), 0));
}

bool takes_axis(py::handle part) { return !part.is_none() && part.ptr() != Py_Ellipsis; }

}  // namespace

Index index_of(py::handle value, int rank) {
  const py::tuple parts =
      py::isinstance<py::tuple>(value) ? py::reinterpret_borrow<py::tuple>(value) : py::make_tuple(value);
  int named = 0;
  for (const py::handle part : parts) named += takes_axis(part) ? 1 : 0;
  Index index;
  int axis = 0;  // of the result
  for (const py::handle part : parts) {
    if (part.is_none()) {
      index.new_axes.push_back(axis++);
    } else if (part.ptr() == Py_Ellipsis) {
      for (int i = named; i < rank; ++i, ++axis) index.slices.push_back(tl::all);
    } else {
      index.slices.push_back(slice_of(part));
      axis += index.slices.back().drops_axis ? 0 : 1;
    }
  }
  return index;
}

namespace {

PyTile result(const PyTile& of, tl::Tile tile) { return {of.recording, tile}; }

PyTile get_item(const PyTile& self, const py::object& key) {
  tl::Context& tl = self.recording->at_line();
  const Index index = index_of(key, self.get().rank());
  tl::Tile part = index.slices.empty() ? self.get() : tl.slice(self.get(), index.slices);
  for (const int axis : index.new_axes) part = tl.expand_dims(part, axis);
  return result(self, part);
}

/// `a op b` or, swapped, `b op a`. NotImplemented where the other one is no operand, as Python wants it.
py::object binary(MathOp op, const PyTile& self, py::handle other, bool swapped) {
  tl::Context& tl = self.recording->at_line();
  tl::Operand operands[2] = {tl::Operand(self.get()), {}};
  if (py::isinstance<PyTile>(other) || py::isinstance<PyTensorHandle>(other))
    operands[1] = operand_of(other);
  else if (!number_of(other, operands[1]))
    return py::reinterpret_borrow<py::object>(Py_NotImplemented);
  if (swapped) std::swap(operands[0], operands[1]);
  return py::cast(result(self, tl.math(op, operands)));
}

PyTile unary(MathOp op, const PyTile& self) {
  const tl::Operand operands[] = {tl::Operand(self.get())};
  return result(self, self.recording->at_line().math(op, operands));
}

void bind_operators(py::class_<PyTile>& tile) {
  const auto define = [&](const char* name, MathOp op, bool swapped = false) {
    tile.def(
        name, [op, swapped](const PyTile& a, py::handle b) { return binary(op, a, b, swapped); },
        py::is_operator());
  };
  struct {
    const char* name;
    MathOp op;
  } const kBoth[] = {{"add", MathOp::add},     {"sub", MathOp::sub},  {"mul", MathOp::mul},
                     {"truediv", MathOp::div}, {"mod", MathOp::mod},  {"floordiv", MathOp::floordiv},
                     {"and", MathOp::bit_and}, {"or", MathOp::bit_or}};
  for (const auto& [name, op] : kBoth) {
    define(fmt::format("__{}__", name).c_str(), op);
    define(fmt::format("__r{}__", name).c_str(), op, true);
  }
  define("__eq__", MathOp::eq);
  define("__ne__", MathOp::ne);
  define("__lt__", MathOp::lt);
  define("__le__", MathOp::le);
  define("__gt__", MathOp::gt);
  define("__ge__", MathOp::ge);
  tile.def("__neg__", [](const PyTile& x) { return unary(MathOp::neg, x); });
  tile.def("__invert__", [](const PyTile& x) { return unary(MathOp::bit_not, x); });
  tile.def("__abs__", [](const PyTile& x) { return unary(MathOp::abs, x); });
  tile.def("__pos__", [](const PyTile& x) { return x; });
  tile.def(
      "__matmul__",
      [](const PyTile& a, const PyTile& b) {
        return result(a, a.recording->at_line().dot(a.get(), b.get()));
      },
      py::is_operator(), "a · b, in f32 (i32 of i8): tl.dot(a, b)");
}

[[noreturn]] void refuse_truth(const PyTile&) {
  throw py::type_error(
      "a tile has no truth value: a kernel is recorded before anything is computed, so it cannot branch on a "
      "tile. "
      "Use tl.where(mask, a, b), a mask of load or store, or tl.load_scalar for a number the host wrote");
}

std::string repr(const PyTile& self) {
  if (self.recording->is_over()) return "<tile of a kernel run that is over>";
  if (!self.tile) return "<no tile>";
  return fmt::format("<tile {}{}>", to_string(self.tile.dtype()), to_string(self.tile.shape()));
}

py::list rows_of(const PyTile& self) {
  py::list rows;
  const Shape shape = self.get().shape();
  if (shape.rank() == 0) throw py::type_error("a tile without axes has nothing to iterate over");
  for (std::int64_t i = 0; i < shape[0]; ++i) rows.append(get_item(self, py::int_(i)));
  return rows;
}

void bind_views(py::class_<PyTile>& tile) {
  tile.def_property_readonly(
      "T", [](const PyTile& x) { return result(x, x.recording->at_line().trans(x.get())); },
      "The last two axes swapped; costs nothing.");
  tile.def(
      "to",
      [](const PyTile& x, DType dtype) { return result(x, x.recording->at_line().cast(x.get(), dtype)); },
      py::arg("dtype"), "tl.cast(x, dtype)");
  tile.def(
      "reshape",
      [](const PyTile& x, const py::args& shape) {
        const tl::Dims dims = dims_of(shape.size() == 1 ? py::handle(shape[0]) : py::handle(shape));
        return result(x, x.recording->at_line().reshape(x.get(), dims));
      },
      "tl.reshape(x, shape)");
  tile.def("__getitem__", &get_item);
  tile.def("__iter__", [](const PyTile& x) { return py::iter(rows_of(x)); });
  tile.def("__len__", [](const PyTile& x) {
    const Shape shape = x.get().shape();
    if (shape.rank() == 0) throw py::type_error("a tile without axes has no len()");
    return shape[0];
  });
}

/// Where it was loaded from or received to, and which memory that is; a tile that was computed is in scratch and has
/// address 0.
std::pair<std::uint64_t, std::string> place_of(const PyTile& self) {
  const isa::Program& program = self.recording->context("a tile").program();
  const isa::ValueId id = self.get().id();
  const isa::Value& value = program.value(id);
  if (value.kind == isa::ValueKind::reference) return {program.address(id), "hbm"};
  if (value.producer == isa::kNone) return {0, "tcm"};
  const isa::Command& command = program.command(value.producer);
  if (value.kind == isa::ValueKind::placed) {
    constexpr const char* kNames[] = {"tcm", "sram", "hbm"};
    return {program.address(id), kNames[static_cast<std::size_t>(program.destination_space(command))]};
  }
  if (command.kind == isa::CommandKind::dma_read && value.kind == isa::ValueKind::tile &&
      command.place != isa::kNone)
    return {program.address(command), "hbm"};
  return {0, "tcm"};
}

void bind_tensor_handle(py::module_& m) {
  py::class_<PyTensorHandle>(m, "TensorHandle", "A tile by its address: what lies there.")
      .def(py::init([](std::string id, std::uint64_t addr, const Shape& shape, DType dtype,
                       std::int64_t nbytes, py::object data, std::string space) {
             if (nbytes != shape.elements() * itemsize(dtype))
               throw py::value_error(fmt::format("TensorHandle '{}': {} bytes, but {}{} has {}", id, nbytes,
                                                 to_string(dtype), to_string(shape),
                                                 shape.elements() * itemsize(dtype)));
             space_of(space);
             return PyTensorHandle{std::move(id),   addr, shape, dtype, nbytes, std::move(data),
                                   std::move(space)};
           }),
           py::kw_only(), py::arg("id"), py::arg("addr"), py::arg("shape"), py::arg("dtype"),
           py::arg("nbytes"), py::arg("data") = py::none(), py::arg("space") = "hbm")
      .def_readonly("id", &PyTensorHandle::id)
      .def_readonly("addr", &PyTensorHandle::addr)
      .def_readonly("shape", &PyTensorHandle::shape)
      .def_readonly("dtype", &PyTensorHandle::dtype)
      .def_readonly("nbytes", &PyTensorHandle::nbytes)
      .def_readonly("data", &PyTensorHandle::data)
      .def_readonly("space", &PyTensorHandle::space)
      .def("__repr__", [](const PyTensorHandle& h) {
        return fmt::format("<TensorHandle '{}' {}{} at {:#x} in {}>", h.id, to_string(h.dtype),
                           to_string(h.shape), h.addr, h.space);
      });
}

}  // namespace

void bind_tile(py::module_& m) {
  bind_tensor_handle(m);
  py::class_<PyTile> tile(
      m, "Tile",
      "A value of the kernel that is being recorded: immutable, computed later. Operators, NumPy "
      "broadcasting, slices.");
  tile.def_property_readonly("shape", [](const PyTile& x) { return x.get().shape(); });
  tile.def_property_readonly("dtype", [](const PyTile& x) { return x.get().dtype(); });
  tile.def_property_readonly("ndim", [](const PyTile& x) { return x.get().rank(); });
  tile.def_property_readonly("numel", [](const PyTile& x) { return x.get().shape().elements(); });
  tile.def_property_readonly(
      "nbytes", [](const PyTile& x) { return x.get().shape().elements() * itemsize(x.get().dtype()); });
  tile.def_property_readonly("id", [](const PyTile& x) { return x.get().id(); });
  tile.def_property_readonly(
      "addr", [](const PyTile& x) { return place_of(x).first; },
      "Where it was loaded from or received to; 0 of a tile that was computed.");
  tile.def_property_readonly(
      "space", [](const PyTile& x) { return place_of(x).second; },
      "The memory of that address: hbm, tcm, sram.");
  tile.def_property_readonly(
      "data",
      [](const PyTile& x) -> py::object {
        if (x.recording->data_source.is_none()) return py::none();
        const tl::Tile copy = x.recording->at_line().copy(x.get());
        return x.recording->data_source(copy.id());
      },
      "In the functional runner the array; else None, for a kernel is recorded before anything is computed.");
  tile.def(py::init(&loaded), py::arg("handle"));
  tile.def("__bool__", &refuse_truth);
  tile.def("__repr__", &repr);
  tile.attr("__hash__") = py::none();
  tile.attr("__array_ufunc__") = py::none();  // a NumPy number beside a tile leaves the operation to the tile
  bind_operators(tile);
  bind_views(tile);
  py::implicitly_convertible<PyTensorHandle, PyTile>();
  py::class_<PyOp>(m, "Op", "A command that tl.wait can wait for.")
      .def_property_readonly("command", [](const PyOp& op) { return op.op.command(); });
  py::class_<PyPending, PyTile>(m, "PendingTile",
                                "What tl.recv_async returns: a tile whose message may still have to come.");
  py::class_<PyShard>(m, "Shard", "The piece of a tensor argument that the running PE holds.")
      .def_property_readonly(
          "ptr", [](const PyShard& s) { return s.get().ptr; }, "Where the piece begins.")
      .def_property_readonly("tensor", [](const PyShard& s) { return s.get().tensor; })
      .def_property_readonly("shape", [](const PyShard& s) { return s.get().shape; })
      .def_property_readonly(
          "origin", [](const PyShard& s) { return s.get().origin; },
          "Logical index of its first element in the tensor.")
      .def_property_readonly("dtype", [](const PyShard& s) { return s.get().dtype; })
      .def_property_readonly("name", [](const PyShard& s) { return s.get().name; })
      .def("__repr__", [](const PyShard& s) {
        if (s.recording->is_over()) return std::string("<shard of a kernel run that is over>");
        return fmt::format("<shard of '{}' {}{} at {:#x}>", s.shard.name, to_string(s.shard.dtype),
                           to_string(s.shard.shape), s.shard.ptr.address());
      });
}

}  // namespace kernbench::python
