// Tensor parallel layers: kernbench/tp.hpp.
#include "kernbench/tp.hpp"

#include <pybind11/stl.h>

#include "python/models.hpp"

namespace kernbench::python {
namespace {

namespace tp = nn::tp;

/// A layer and the context it was made in. What it holds goes when the engine rests.
template <class Layer>
struct PyLayer {
  HostPtr host;
  std::unique_ptr<Layer> layer;

  template <class... Args>
  explicit PyLayer(const PyTorch& torch, const Args&... args) : host(torch.host) {
    Torch& context = host->torch();
    layer = host->work([&] { return std::make_unique<Layer>(context, args...); });
  }
  PyLayer(PyLayer&&) = default;
  ~PyLayer() {
    if (!layer) return;
    host->drop(layer->weight);
    if constexpr (requires { layer->bias; })
      if (layer->bias) host->drop(layer->bias);
  }
  /// InputError once its context is over.
  const Layer& get() const { return host->torch(), *layer; }
  PyTensor forward(const PyTensor& x) const {
    const Layer& mine = get();
    const Tensor& t = x.get();
    return {host, host->work([&] { return mine.forward(t); })};
  }
};

template <class Layer>
py::object bias_of(const PyLayer<Layer>& self) {
  const Tensor& bias = self.get().bias;
  return bias ? py::cast(PyTensor(self.host, bias)) : py::none();
}

tp::LinearOptions options_of(bool bias, DType dtype, py::handle dp) {
  return {.bias = bias, .dtype = dtype, .dp = policy_of(dp)};
}

template <class Layer>
py::class_<PyLayer<Layer>> bind_layer(py::module_& m, const char* name, const char* doc) {
  py::class_<PyLayer<Layer>> c(m, name, doc);
  c.def("forward", &PyLayer<Layer>::forward, py::arg("x"));
  c.def("__call__", &PyLayer<Layer>::forward, py::arg("x"));
  c.def_property_readonly("weight", [](const PyLayer<Layer>& s) { return PyTensor(s.host, s.get().weight); });
  return c;
}

template <class Layer>
void bind_linear(py::class_<PyLayer<Layer>>& c) {
  using Py = PyLayer<Layer>;
  c.def_property_readonly("bias", &bias_of<Layer>);
  c.def_property_readonly("in_features", [](const Py& s) { return s.get().in_features; });
  c.def_property_readonly("out_features", [](const Py& s) { return s.get().out_features; });
  c.def_property_readonly("dtype", [](const Py& s) { return s.get().dtype; });
}

void bind_column(py::module_& m) {
  using Layer = PyLayer<tp::ColumnParallelLinear>;
  auto c = bind_layer<tp::ColumnParallelLinear>(m, "ColumnParallelLinear",
                                                "y = x · W (+ bias): each rank computes its columns of y.");
  c.def(py::init([](const PyTorch& torch, std::int64_t in, std::int64_t out, bool bias, DType dtype,
                    bool gather_output, py::handle dp) {
          auto options = options_of(bias, dtype, dp);
          options.gather_output = gather_output;
          return std::make_unique<Layer>(torch, in, out, options);
        }),
        py::arg("torch"), py::arg("in_features"), py::arg("out_features"), py::arg("bias") = false,
        py::arg("dtype") = "f16", py::arg("gather_output") = false, py::arg("dp") = py::none());
  bind_linear(c);
  c.def_property_readonly("n_local", [](const Layer& s) { return s.get().n_local; });
}

void bind_row(py::module_& m) {
  using Layer = PyLayer<tp::RowParallelLinear>;
  auto c = bind_layer<tp::RowParallelLinear>(
      m, "RowParallelLinear",
      "y = x · W (+ bias): each rank multiplies its part of the features; the products are added up.");
  c.def(py::init([](const PyTorch& torch, std::int64_t in, std::int64_t out, bool bias, DType dtype,
                    bool input_is_parallel, py::handle dp) {
          auto options = options_of(bias, dtype, dp);
          options.input_is_parallel = input_is_parallel;
          return std::make_unique<Layer>(torch, in, out, options);
        }),
        py::arg("torch"), py::arg("in_features"), py::arg("out_features"), py::arg("bias") = false,
        py::arg("dtype") = "f16", py::arg("input_is_parallel") = true, py::arg("dp") = py::none());
  bind_linear(c);
  c.def_property_readonly("k_local", [](const Layer& s) { return s.get().k_local; });
}

void bind_vocabulary(py::module_& m) {
  using Layer = PyLayer<tp::VocabParallelEmbedding>;
  auto c = bind_layer<tp::VocabParallelEmbedding>(
      m, "VocabParallelEmbedding",
      "Each rank has a range of the table's rows; the sum over the ranks is the result.");
  c.def(py::init([](const PyTorch& torch, std::int64_t rows, std::int64_t width, DType dtype, py::handle dp) {
          return std::make_unique<Layer>(torch, rows, width, options_of(false, dtype, dp));
        }),
        py::arg("torch"), py::arg("num_embeddings"), py::arg("embedding_dim"), py::arg("dtype") = "f16",
        py::arg("dp") = py::none());
  c.def_property_readonly("num_embeddings", [](const Layer& s) { return s.get().num_embeddings; });
  c.def_property_readonly("embedding_dim", [](const Layer& s) { return s.get().embedding_dim; });
  c.def_property_readonly("rows_local", [](const Layer& s) { return s.get().rows_local; });
}

void bind_region(py::module_& m, const char* name, Tensor (*fn)(const Tensor&, Torch&), const char* doc) {
  m.def(
      name,
      [fn](const PyTensor& x, const PyTorch& torch) {
        Torch& context = torch.host->torch();
        const Tensor& t = x.get();
        return PyTensor(torch.host, torch.host->work([&] { return fn(t, context); }));
      },
      py::arg("x"), py::arg("torch"), doc);
}

}  // namespace

void bind_tp(py::module_& m) {
  m.def(
      "tp_initialize",
      [](const PyTorch& torch, int n) { tp::initialize_model_parallel(torch.host->torch(), n); },
      py::arg("torch"), py::arg("n"));
  m.def(
      "tp_world_size",
      [](const PyTorch& torch) { return tp::get_tensor_model_parallel_world_size(torch.host->torch()); },
      py::arg("torch"));
  m.def(
      "tp_rank", [](const PyTorch& torch) { return tp::get_tensor_model_parallel_rank(torch.host->torch()); },
      py::arg("torch"));
  bind_column(m);
  bind_row(m);
  bind_vocabulary(m);
  bind_region(m, "tp_reduce", &tp::mappings::reduce_from_tp_region, "Adds x up over the group, in place.");
  bind_region(m, "tp_scatter", &tp::mappings::scatter_to_tp_region, "This rank's part of the columns of x.");
  bind_region(m, "tp_gather", &tp::mappings::gather_from_tp_region, "The columns of all ranks.");
}

}  // namespace kernbench::python
