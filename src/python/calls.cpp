// Says in plain words what is wrong with the arguments of a call. pybind11 answers such a call with a list of C++ signatures.
#include "python/calls.hpp"

namespace kernbench::python {
namespace {

using Dispatcher = PyObject* (*)(PyObject*, PyObject*, PyObject*);

Dispatcher dispatcher = nullptr;  // pybind11's own, which is one for all functions of a module

py::object text_of_error() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  const auto text = py::reinterpret_steal<py::object>(PyObject_Str(value));
  PyErr_Restore(type, value, trace);
  return text;
}

bool is_pybind11s(const py::object& text) {
  return text && py::isinstance<py::str>(text) &&
         std::string(py::str(text)).find("arguments. The following argument types are supported:") !=
             std::string::npos;
}

/// The TypeError that is set says what a caller understands, if it is pybind11's.
void rephrase(PyObject* args, PyObject* kwargs) {
  const auto text = text_of_error();
  if (!is_pybind11s(text)) return;
  const auto given = kwargs == nullptr ? py::dict() : py::reinterpret_borrow<py::dict>(kwargs);
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  try {
    const auto plain = py::module_::import("kernbench._calls")
                           .attr("in_plain_words")(text, py::reinterpret_borrow<py::tuple>(args), given);
    PyErr_SetObject(PyExc_TypeError, plain.ptr());
    Py_XDECREF(type), Py_XDECREF(value), Py_XDECREF(trace);
  } catch (const py::error_already_set&) {
    PyErr_Restore(type, value, trace);  // what pybind11 said is better than nothing
  }
}

PyObject* call(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyObject* const result = dispatcher(self, args, kwargs);
  if (result == nullptr && PyErr_ExceptionMatches(PyExc_TypeError)) rephrase(args, kwargs);
  return result;
}

/// The function behind a method, a static method or itself; null if it is none of pybind11's.
PyCFunctionObject* function_of(py::handle value) {
  PyObject* p = value.ptr();
  if (PyInstanceMethod_Check(p)) p = PyInstanceMethod_GET_FUNCTION(p);
  py::object held;
  if (Py_TYPE(p) == &PyStaticMethod_Type) {
    held = py::getattr(p, "__func__");
    p = held.ptr();
  }
  const bool takes_keywords = PyCFunction_Check(p) && (PyCFunction_GET_FLAGS(p) & METH_KEYWORDS) != 0;
  return takes_keywords ? reinterpret_cast<PyCFunctionObject*>(p) : nullptr;
}

void listen(py::handle space) {
  for (const auto item : py::reinterpret_borrow<py::dict>(space)) {
    PyCFunctionObject* const function = function_of(item.second);
    if (function == nullptr) continue;
    const auto its = reinterpret_cast<Dispatcher>(reinterpret_cast<void (*)()>(function->m_ml->ml_meth));
    if (dispatcher == nullptr) dispatcher = its;
    if (its != dispatcher) continue;
    function->m_ml->ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call));
  }
}

/// Pickle's old protocols make a bare object of pybind11's base class, which ends the process.
void refuse_pickling(py::handle type) {
  py::setattr(type, "__reduce__",
              py::cpp_function(
                  [](const py::object& self) {
                    const auto name = py::str(py::type::of(self).attr("__name__"));
                    throw py::type_error("cannot pickle or copy a " + std::string(name));
                  },
                  py::name("__reduce__"), py::is_method(type)));
}

bool is_pybind11_class(py::handle value) {
  return reinterpret_cast<PyObject*>(Py_TYPE(value.ptr())) ==
         reinterpret_cast<PyObject*>(py::detail::get_internals().default_metaclass);
}

}  // namespace

void explain_wrong_calls(py::module_& m) {
  listen(m.attr("__dict__"));
  for (const auto item : py::reinterpret_borrow<py::dict>(m.attr("__dict__"))) {
    if (is_pybind11_class(item.second)) refuse_pickling(item.second);
    if (PyType_Check(item.second.ptr()))
      listen(py::handle(reinterpret_cast<PyTypeObject*>(item.second.ptr())->tp_dict));
  }
}

}  // namespace kernbench::python
