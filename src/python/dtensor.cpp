// Distributed tensors: kernbench/dtensor.hpp.
#include "kernbench/dtensor.hpp"

#include <pybind11/stl.h>

#include "kernbench/error.hpp"
#include "python/models.hpp"

namespace kernbench::python {
namespace {

struct PyMesh {
  HostPtr host;
  nn::DeviceMesh mesh;

  const nn::DeviceMesh& get() const { return host->torch(), mesh; }
};

/// What it holds goes when the engine rests.
struct PyDTensor {
  HostPtr host;
  std::unique_ptr<nn::DTensor> tensor;

  PyDTensor(HostPtr h, nn::DTensor t)
      : host(std::move(h)), tensor(std::make_unique<nn::DTensor>(std::move(t))) {}
  PyDTensor(PyDTensor&&) = default;
  ~PyDTensor() {
    if (tensor) host->drop(tensor->to_local());
  }
  const nn::DTensor& get() const { return host->torch(), *tensor; }
};

template <class Fn>
PyDTensor made(const HostPtr& host, Fn fn) {
  return {host, host->work(fn)};
}

void check_alike(const PyDTensor& a, const PyDTensor& b) {
  if (a.get(), b.get(), a.host != b.host)
    throw InputError(
        {"dtensor.other-context", "", "an operation on tensors of two contexts", "use one mesh"});
}

void bind_placements(py::module_& m) {
  py::class_<nn::Placement> c(m, "Placement", "What each member of a mesh dimension has of a tensor.");
  c.def("is_replicate", &nn::Placement::is_replicate);
  c.def("is_partial", &nn::Placement::is_partial);
  c.def(
      "is_shard",
      [](const nn::Placement& p, std::optional<int> dim) { return dim ? p.is_shard(*dim) : p.is_shard(); },
      py::arg("dim") = py::none());
  c.def_property_readonly("dim", [](const nn::Placement& p) { return p.dim; });
  c.def(
      "__eq__", [](const nn::Placement& a, const nn::Placement& b) { return a == b; }, py::is_operator());
  c.def("__hash__", [](const nn::Placement& p) { return py::hash(py::str(nn::to_string(p))); });
  c.def("__repr__", [](const nn::Placement& p) { return nn::to_string(p); });
  m.def("dtensor_replicate", &nn::Replicate, "Each member has all of it.");
  m.def("dtensor_shard", &nn::Shard, py::arg("dim"), "Each member has an equal part of that axis.");
  m.def(
      "dtensor_partial",
      [](std::string op) {
        for (char& letter : op) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
        return nn::Partial(ccl::parse_reduce_op(op));
      },
      py::arg("reduce_op") = "sum", "The members' tensors, added up, are it.");
}

void bind_mesh(py::module_& m) {
  py::class_<PyMesh> c(m, "DeviceMesh", "The ranks of the world as a line or a matrix of SIPs.");
  c.def(py::init([](const PyTorch& torch, std::vector<int> shape, std::vector<std::string> names) {
          Torch& context = torch.host->torch();
          return PyMesh{torch.host, nn::DeviceMesh(context, std::move(shape), std::move(names))};
        }),
        py::arg("torch"), py::arg("mesh_shape"), py::arg("mesh_dim_names") = std::vector<std::string>());
  c.def_property_readonly("ndim", [](const PyMesh& s) { return s.get().ndim(); });
  c.def(
      "size", [](const PyMesh& s, int dim) { return s.get().size(dim); }, py::arg("mesh_dim") = 0);
  c.def(
      "get_local_rank", [](const PyMesh& s, int dim) { return s.get().coordinate(dim); },
      py::arg("mesh_dim") = 0, "The calling rank's place along a dimension.");
  c.def(
      "dim", [](const PyMesh& s, const std::string& name) { return s.get().dim(name); }, py::arg("name"));
  c.def(
      "members", [](const PyMesh& s, int dim) { return s.get().members(dim); }, py::arg("mesh_dim") = 0,
      "The ranks along a dimension that the calling rank is one of.");
}

using Binary = nn::DTensor (*)(const nn::DTensor&, const nn::DTensor&);
using Unary = nn::DTensor (*)(const nn::DTensor&);

PyDTensor both(Binary fn, const PyDTensor& a, const PyDTensor& b) {
  check_alike(a, b);
  return made(a.host, [&] { return fn(*a.tensor, *b.tensor); });
}

void bind_functions(py::module_& m, py::class_<PyDTensor>& c) {
  const std::tuple<const char*, const char*, Binary> binary[] = {
      {"dtensor_matmul", "__matmul__", &nn::matmul},
      {"dtensor_add", "__add__", &nn::add},
      {"dtensor_mul", "__mul__", &nn::mul}};
  for (const auto& [name, special, fn] : binary) {
    const auto call = [fn = fn](const PyDTensor& a, const PyDTensor& b) { return both(fn, a, b); };
    m.def(name, call, py::arg("a"), py::arg("b"));
    c.def(special, call, py::is_operator());
  }
  const std::pair<const char*, Unary> unary[] = {{"dtensor_relu", &nn::relu},
                                                 {"dtensor_gelu", &nn::gelu},
                                                 {"dtensor_silu", &nn::silu},
                                                 {"dtensor_softmax", &nn::softmax}};
  for (const auto& [name, fn] : unary)
    m.def(
        name,
        [fn = fn](const PyDTensor& x) {
          x.get();
          return made(x.host, [&] { return fn(*x.tensor); });
        },
        py::arg("x"));
}

void bind_class(py::class_<PyDTensor>& c) {
  c.def_static(
      "from_local",
      [](const PyTensor& local, const PyMesh& mesh, const nn::Placements& placements) {
        const Tensor& t = local.get();
        return made(mesh.host, [&] { return nn::DTensor::from_local(t, mesh.mesh, placements); });
      },
      py::arg("local_tensor"), py::arg("device_mesh"), py::arg("placements"),
      "What this rank has, as it is.");
  c.def_property_readonly(
      "shape", [](const PyDTensor& s) { return s.get().shape(); }, "Of the whole.");
  c.def_property_readonly("placements",
                          [](const PyDTensor& s) { return py::tuple(py::cast(s.get().placements())); });
  c.def_property_readonly("device_mesh", [](const PyDTensor& s) {
    return PyMesh{s.host, s.get().device_mesh()};
  });
  c.def("to_local", [](const PyDTensor& s) { return PyTensor(s.host, s.get().to_local()); });
  c.def(
      "full_tensor",
      [](const PyDTensor& s) {
        const nn::DTensor& mine = s.get();
        return PyTensor(s.host, s.host->work([&] { return mine.full_tensor(); }));
      },
      "All of it, on every rank.");
  c.def(
      "redistribute",
      [](const PyDTensor& s, const nn::Placements& placements) {
        const nn::DTensor& mine = s.get();
        return made(s.host, [&] { return mine.redistribute(placements); });
      },
      py::arg("placements"));
}

}  // namespace

void bind_dtensor(py::module_& m) {
  bind_placements(m);
  bind_mesh(m);
  py::class_<PyDTensor> c(m, "DTensor", "One logical matrix over a mesh of SIPs.");
  bind_class(c);
  bind_functions(m, c);
  m.def(
      "distribute_tensor",
      [](const PyTensor& tensor, const PyMesh& mesh, const nn::Placements& placements) {
        const Tensor& t = tensor.get();
        return made(mesh.host, [&] { return nn::distribute_tensor(t, mesh.mesh, placements); });
      },
      py::arg("tensor"), py::arg("device_mesh"), py::arg("placements"),
      "A tensor that every rank has, as one distributed over the mesh.");
}

}  // namespace kernbench::python
