// Between Python's values and ours: dtypes, shapes, pointers, numbers, arrays. What cannot be converted is a TypeError, or
// the InputError of the layer that knows, with a sentence that says what was expected.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <optional>
#include <string>
#include <vector>

#include "kernbench/ndarray.hpp"
#include "kernbench/param.hpp"
#include "kernbench/placement.hpp"
#include "kernbench/tl.hpp"

namespace kernbench::python {

namespace py = pybind11;

/// A name (`"f16"`, `"float16"`), a NumPy dtype or type, or one of the package's own.
DType dtype_of(py::handle value);
/// The package's object of that dtype: a str with a size.
py::object to_python(DType dtype);
/// What NumPy holds elements of that dtype in. bf16 and the f8s, which it does not have, are float32 there.
py::dtype numpy_dtype(DType dtype);
/// Whether NumPy has this dtype itself.
bool is_numpys(DType dtype);

tl::Dims dims_of(py::handle value);
Shape shape_of(py::handle value);
py::tuple to_python(const Shape& shape);
py::object to_python(const ParamValue& value);

/// A Ptr, an int, or what has an index.
tl::Ptr ptr_of(py::handle value);
/// A number beside a tile. False if it is none.
bool number_of(py::handle value, tl::Operand& out);

/// A copy of what NumPy makes of the value, in that dtype if one is given.
NdArray array_of(py::handle value, std::optional<DType> dtype = {});
/// An array that owns the bytes; they are not copied where NumPy has the dtype.
py::array to_numpy(NdArray array);

/// A DPPolicy, a dict of its fields, or None.
std::optional<DPPolicy> policy_of(py::handle value);
PeCoord pe_of(py::handle value);
/// `hbm`, `tcm`, `sram`.
address::MemorySpace space_of(std::string_view name);
std::vector<std::string> words_of(py::handle value);

}  // namespace kernbench::python

namespace pybind11::detail {

template <>
struct type_caster<kernbench::DType> {
  PYBIND11_TYPE_CASTER(kernbench::DType, const_name("dtype"));
  bool load(handle source, bool) { return value = kernbench::python::dtype_of(source), true; }
  static handle cast(kernbench::DType dtype, return_value_policy, handle) {
    return kernbench::python::to_python(dtype).release();
  }
};

template <>
struct type_caster<kernbench::Shape> {
  PYBIND11_TYPE_CASTER(kernbench::Shape, const_name("tuple[int, ...]"));
  bool load(handle source, bool) { return value = kernbench::python::shape_of(source), true; }
  static handle cast(const kernbench::Shape& shape, return_value_policy, handle) {
    return kernbench::python::to_python(shape).release();
  }
};

template <>
struct type_caster<kernbench::tl::Dims> {
  PYBIND11_TYPE_CASTER(kernbench::tl::Dims, const_name("tuple[int, ...]"));
  bool load(handle source, bool) {
    if (!source.is_none()) value = kernbench::python::dims_of(source);
    return true;
  }
};

/// Times are nanoseconds in Python.
template <>
struct type_caster<kernbench::Time> {
  PYBIND11_TYPE_CASTER(kernbench::Time, const_name("float"));
  bool load(handle, bool) { return false; }
  static handle cast(kernbench::Time time, return_value_policy, handle) {
    return PyFloat_FromDouble(time.ns());
  }
};

template <>
struct type_caster<kernbench::Bytes> {
  PYBIND11_TYPE_CASTER(kernbench::Bytes, const_name("int"));
  bool load(handle source, bool) {
    value = kernbench::Bytes(PyLong_AsLongLong(source.ptr()));
    return !PyErr_Occurred() || (PyErr_Clear(), false);
  }
  static handle cast(kernbench::Bytes bytes, return_value_policy, handle) {
    return PyLong_FromLongLong(bytes.count());
  }
};

template <>
struct type_caster<kernbench::PeCoord> {
  PYBIND11_TYPE_CASTER(kernbench::PeCoord, const_name("tuple[int, int, int]"));
  bool load(handle source, bool) { return value = kernbench::python::pe_of(source), true; }
  static handle cast(kernbench::PeCoord pe, return_value_policy, handle) {
    return pybind11::make_tuple(pe.sip, pe.cube, pe.pe).release();
  }
};

}  // namespace pybind11::detail
