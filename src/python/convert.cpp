#include "python/convert.hpp"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <cstring>
#include <map>
#include <unordered_map>

#include "kernbench/error.hpp"
#include "kernbench/half.hpp"

namespace kernbench::python {
namespace {

[[noreturn]] void type_error(const std::string& text) { throw py::type_error(text); }

std::string type_name(py::handle value) { return Py_TYPE(value.ptr())->tp_name; }

/// Text that a dtype may be known by: `float16` of np.float16, of np.dtype('float16') and of "float16".
std::string dtype_text(py::handle value) {
  if (py::isinstance<py::str>(value)) return value.cast<std::string>();
  if (py::isinstance<py::dtype>(value)) return py::str(value);
  if (PyType_Check(value.ptr()) || py::hasattr(value, "__name__"))
    return value.attr("__name__").cast<std::string>();
  if (py::hasattr(value, "name") && py::isinstance<py::str>(value.attr("name")))
    return value.attr("name").cast<std::string>();
  const bool is_extent = PyLong_Check(value.ptr());
  type_error(fmt::format("a dtype is a name such as 'f16' or a NumPy dtype, not {}{}", type_name(value),
                         is_extent ? "; several extents are one tuple, as in zeros((4, 4), 'f32')" : ""));
}

std::string plain(std::string name) {
  if (name == "bool_") return "bool";
  return name;
}

/// One object for each dtype, looked up once.
py::object& dtype_object(DType dtype) {
  static auto* const objects = [] {
    auto* made = new std::unordered_map<int, py::object>;  // lives as long as the interpreter
    const py::object type = py::module_::import("kernbench._dtypes").attr("DType");
    for (const DType t : kAllDTypes)
      (*made)[static_cast<int>(t)] = type(std::string(to_string(t)), itemsize(t));
    return made;
  }();
  return objects->at(static_cast<int>(dtype));
}

const char* numpy_name(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return "float16";
    case DType::i32:
      return "int32";
    case DType::i8:
      return "int8";
    case DType::i16:
      return "int16";
    case DType::i64:
      return "int64";
    case DType::u8:
      return "uint8";
    case DType::u16:
      return "uint16";
    case DType::u32:
      return "uint32";
    case DType::u64:
      return "uint64";
    case DType::i1:
      return "bool";
    case DType::f32:
    case DType::bf16:
    case DType::f8e4m3:
    case DType::f8e5m2:
      return "float32";
  }
  KB_ASSERT(false, "a dtype without a NumPy dtype: {}", to_string(dtype));
  return "";
}

/// Calls `fn` with an element of a dtype that NumPy does not have.
template <class Fn>
void with_small_float(DType dtype, Fn fn) {
  if (dtype == DType::bf16) return fn(BF16());
  if (dtype == DType::f8e4m3) return fn(F8E4M3());
  if (dtype == DType::f8e5m2) return fn(F8E5M2());
  KB_ASSERT(false, "{} is no float that NumPy lacks", to_string(dtype));
}

NdArray rounded(const NdArray& f32, DType dtype) {
  NdArray out(dtype, f32.shape());
  with_small_float(dtype, [&](auto type) { from_f32(f32.view<float>(), out.view<decltype(type)>()); });
  return out;
}

NdArray widened(const NdArray& array) {
  NdArray out(DType::f32, array.shape());
  with_small_float(array.dtype(),
                   [&](auto type) { to_f32(array.view<decltype(type)>(), out.view<float>()); });
  return out;
}

Shape shape_of_array(const py::array& array) {
  std::vector<std::int64_t> extents(array.shape(), array.shape() + array.ndim());
  return Shape(std::span<const std::int64_t>(extents));
}

}  // namespace

// ── dtypes ──

DType dtype_of(py::handle value) {
  // Kernels name the same few objects again and again. Each is kept, so that its address stays its own.
  static auto* const known = new std::unordered_map<PyObject*, DType>;
  if (const auto found = known->find(value.ptr()); found != known->end()) return found->second;
  if (value.is_none()) type_error("a dtype is missing: give a name such as 'f16'");
  const DType dtype = parse_dtype(plain(dtype_text(value)));
  constexpr std::size_t kMost = 256;
  if (known->size() < kMost) known->emplace(value.inc_ref().ptr(), dtype);
  return dtype;
}

py::object to_python(DType dtype) { return dtype_object(dtype); }
bool is_numpys(DType dtype) { return numpy_dtype(dtype).itemsize() == itemsize(dtype); }
py::dtype numpy_dtype(DType dtype) { return py::dtype(numpy_name(dtype)); }

// ── shapes and pointers ──

namespace {

std::int64_t extent_of(PyObject* item) {
  const Py_ssize_t number = PyNumber_AsSsize_t(item, PyExc_OverflowError);
  if (number == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    type_error(fmt::format("an extent is an int, not {}", type_name(item)));
  }
  return number;
}

}  // namespace

tl::Dims dims_of(py::handle value) {
  std::array<std::int64_t, 16> dims{};
  if (PyIndex_Check(value.ptr())) {
    dims[0] = extent_of(value.ptr());
    return tl::Dims(std::span<const std::int64_t>(dims.data(), 1));
  }
  const py::object items =
      py::reinterpret_steal<py::object>(PySequence_Fast(value.ptr(), "not a sequence of ints"));
  if (!items) {
    PyErr_Clear();
    type_error(fmt::format("a shape is an int or a tuple of ints, not {}", type_name(value)));
  }
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(items.ptr());
  if (count > static_cast<Py_ssize_t>(dims.size()))
    type_error(fmt::format("a shape of {} axes; at most {}", count, Shape::kMaxRank));
  for (Py_ssize_t i = 0; i < count; ++i)
    dims[static_cast<std::size_t>(i)] = extent_of(PySequence_Fast_GET_ITEM(items.ptr(), i));
  return tl::Dims(std::span<const std::int64_t>(dims.data(), static_cast<std::size_t>(count)));
}

Shape shape_of(py::handle value) { return Shape(dims_of(value).values()); }

py::tuple to_python(const Shape& shape) {
  py::tuple extents(static_cast<std::size_t>(shape.rank()));
  for (int i = 0; i < shape.rank(); ++i) extents[static_cast<std::size_t>(i)] = shape[i];
  return extents;
}

tl::Ptr ptr_of(py::handle value) {
  if (py::isinstance<tl::Ptr>(value)) return value.cast<tl::Ptr>();
  const py::object index = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
  if (!index) {
    PyErr_Clear();
    type_error(fmt::format("a pointer is a Ptr or an int, not {}{}", type_name(value),
                           py::hasattr(value, "_is_tensor")
                               ? ": launch() turns tensor arguments into pointers; shards have .ptr"
                               : ""));
  }
  const auto address = PyLong_AsUnsignedLongLong(index.ptr());
  if (PyErr_Occurred()) throw py::error_already_set();
  return tl::Ptr(address);
}

namespace {

std::int64_t integer_of(PyObject* p) {
  const long long number = PyLong_AsLongLong(p);
  if (number == -1 && PyErr_Occurred()) throw py::error_already_set();
  return number;
}

/// Numbers of NumPy, and whatever else says that it is a number. False if it is none.
bool other_number(py::handle value, tl::Operand& out) {
  if (py::hasattr(value, "ndim") && value.attr("ndim").cast<int>() > 0) return false;
  PyObject* const p = value.ptr();
  if (PyIndex_Check(p)) {
    const py::object index = py::reinterpret_steal<py::object>(PyNumber_Index(p));
    if (index) return out = tl::Operand(integer_of(index.ptr())), true;
    PyErr_Clear();
  }
  if (Py_TYPE(p)->tp_as_number == nullptr || Py_TYPE(p)->tp_as_number->nb_float == nullptr) return false;
  if (std::string_view(Py_TYPE(p)->tp_name) == "numpy.bool_")
    return out = tl::Operand(value.cast<bool>()), true;
  const double number = PyFloat_AsDouble(p);
  if (PyErr_Occurred()) throw py::error_already_set();
  return out = tl::Operand(number), true;
}

}  // namespace

bool number_of(py::handle value, tl::Operand& out) {
  PyObject* const p = value.ptr();
  if (PyBool_Check(p)) return out = tl::Operand(p == Py_True), true;
  if (PyFloat_CheckExact(p)) return out = tl::Operand(PyFloat_AS_DOUBLE(p)), true;
  if (PyLong_Check(p)) return out = tl::Operand(integer_of(p)), true;
  return other_number(value, out);
}

// ── arrays ──

namespace {

py::array as_array(py::handle value) {
  return py::reinterpret_borrow<py::array>(py::module_::import("numpy").attr("asarray")(value));
}

/// NumPy makes float64 where nothing is said, so that it comes up often.
DType dtype_of_array(const py::array& array) {
  if (std::string(py::str(array.dtype())) == "float64")
    throw InputError({"tensor.dtype", "", "an array of float64, which no unit of the machine computes",
                      "say dtype='f32', or array.astype(np.float32)"});
  return dtype_of(array.dtype());
}

NdArray bytes_of(const py::array& array, DType dtype) {
  NdArray out = NdArray::unset(dtype, shape_of_array(array));
  std::memcpy(out.bytes().data(), array.data(), out.bytes().size());
  return out;
}

}  // namespace

NdArray array_of(py::handle value, std::optional<DType> dtype) {
  const py::array given = as_array(value);
  const DType wanted = dtype ? *dtype : dtype_of_array(given);
  const py::object numpy = py::module_::import("numpy");
  const py::array plain = py::reinterpret_borrow<py::array>(
      numpy.attr("ascontiguousarray")(given, py::arg("dtype") = numpy_dtype(wanted)));
  const py::array shaped =
      py::reinterpret_borrow<py::array>(plain.attr("reshape")(given.attr("shape")));  // of no axes stays so
  if (is_numpys(wanted)) return bytes_of(shaped, wanted);
  return rounded(bytes_of(shaped, DType::f32), wanted);
}

py::array to_numpy(NdArray array) {
  if (!is_numpys(array.dtype())) array = widened(array);
  auto* const owned = new NdArray(std::move(array));
  const py::capsule owner(owned, [](void* p) { delete static_cast<NdArray*>(p); });
  std::vector<py::ssize_t> extents(owned->shape().begin(), owned->shape().end());
  return py::array(numpy_dtype(owned->dtype()), extents, owned->bytes().data(), owner);
}

// ── the rest ──

py::object to_python(const ParamValue& value) {
  return std::visit(
      [](const auto& v) -> py::object {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::monostate>)
          return py::none();
        else if constexpr (std::is_same_v<std::decay_t<decltype(v)>, NumberTable>)
          return py::cast(std::map<std::string, double>(v.begin(), v.end()));
        else
          return py::cast(v);
      },
      value);
}

address::MemorySpace space_of(std::string_view name) {
  for (const auto space : {address::MemorySpace::Tcm, address::MemorySpace::Sram, address::MemorySpace::Hbm})
    if (name == to_string(space)) return space;
  throw InputError({"tl.space", "", fmt::format("unknown memory space '{}'", name), "known: tcm, sram, hbm"});
}

std::optional<DPPolicy> policy_of(py::handle value) {
  if (value.is_none()) return {};
  if (!py::isinstance<DPPolicy>(value))
    type_error(fmt::format("dp is a DPPolicy or None, not {}", type_name(value)));
  return value.cast<DPPolicy>();
}

PeCoord pe_of(py::handle value) {
  const auto numbers = shape_of(value);
  if (numbers.rank() != 3) type_error("a PE is (sip, cube, pe)");
  return {static_cast<int>(numbers[0]), static_cast<int>(numbers[1]), static_cast<int>(numbers[2])};
}

std::vector<std::string> words_of(py::handle value) {
  std::vector<std::string> words;
  if (value.is_none()) return words;
  if (py::isinstance<py::str>(value)) return {value.cast<std::string>()};
  for (const py::handle item : value) words.push_back(py::str(item));
  return words;
}

}  // namespace kernbench::python
