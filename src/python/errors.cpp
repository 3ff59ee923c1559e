// Errors of C++ as exceptions of Python. The classes are those of kernbench/_errors.py.
#include <fmt/format.h>
#include <pybind11/stl.h>

#include <algorithm>

#include "dist/strand.hpp"
#include "kernbench/address.hpp"
#include "kernbench/deadlock.hpp"
#include "kernbench/distributed.hpp"
#include "kernbench/error.hpp"
#include "kernbench/tensor.hpp"
#include "python/host.hpp"

namespace kernbench::python {
namespace {

py::object class_named(const char* name) { return py::module_::import("kernbench._errors").attr(name); }

py::object exception(const char* name, const Error& error) {
  return class_named(name)(error.id(), error.where(), error.message(), error.hint(),
                           std::string(error.what()));
}

void raise(const py::object& exception) {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
}

py::object spawn_exception(const dist::SpawnException& error) {
  py::dict errors;
  for (const auto& [rank, cause] : error.causes()) errors[py::int_(rank)] = to_python(cause);
  py::object made = class_named("SpawnException")(error.id(), error.where(), error.message(), error.hint(),
                                                  class_named("spawn_text")(errors));
  made.attr("errors") = errors;
  PyException_SetCause(made.ptr(),
                       py::object(errors[py::int_(error.causes().begin()->first)]).release().ptr());
  return made;
}

py::object deadlock_exception(const IpcqDeadlock& error) {
  py::object made = exception("IpcqDeadlock", error);
  py::list blocked;
  for (const auto& pe : error.blocked()) blocked.append(py::make_tuple(py::cast(pe.pe), to_string(pe)));
  made.attr("blocked") = blocked;
  return made;
}

py::object of_python(const py::error_already_set& error) {
  const py::object value = error.value();
  if (error.trace()) PyException_SetTraceback(value.ptr(), error.trace().ptr());
  return value;
}

py::object other(const std::exception& error) {
  return py::reinterpret_borrow<py::object>(PyExc_RuntimeError)(std::string(error.what()));
}

}  // namespace

Raised::Raised(const py::error_already_set& error) : py::error_already_set(error), text_(error.what()) {
  text_.resize(std::min(text_.size(), text_.find("\n\nAt:\n")));  // pybind11 adds a traceback of its own
}

py::object to_python(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const py::error_already_set& error) {
    return of_python(error);
  } catch (const dist::SpawnException& error) {
    return spawn_exception(error);
  } catch (const tl::KernelError& error) {
    return exception("KernelError", error);
  } catch (const NoData& error) {
    return exception("NoData", error);
  } catch (const InputError& error) {
    return exception(error.id() == "tensor.slice" ? "TensorIndexError" : "InputError", error);
  } catch (const IpcqDeadlock& error) {
    return deadlock_exception(error);
  } catch (const address::AllocationError& error) {
    return exception("AllocationError", error);
  } catch (const address::MmuFault& error) {
    return exception("MmuFault", error);
  } catch (const SimulationError& error) {
    return exception("SimulationError", error);
  } catch (const InternalError& error) {
    return exception("InternalError", error);
  } catch (const runtime::Interrupted& error) {
    return exception("Interrupted", error);
  } catch (const Error& error) {
    return exception("Error", error);
  } catch (const dist::RankStopped&) {
    return class_named("RankStopped")("another rank has failed");
  } catch (const std::bad_alloc&) {
    return py::reinterpret_borrow<py::object>(PyExc_MemoryError)();
  } catch (const std::exception& error) {
    return other(error);
  } catch (...) {
    return py::reinterpret_borrow<py::object>(PyExc_RuntimeError)("something that is no std::exception");
  }
}

void bind_errors(py::module_&) {
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error&) {
      raise(to_python(thrown));
    } catch (const dist::RankStopped&) {
      raise(to_python(thrown));
    }
  });
}

}  // namespace kernbench::python
