// The context in Python: tensors, launches, waiting, devices, what happened. kernbench/_torch.py puts the face on it.
#include <fmt/format.h>
#include <pybind11/stl.h>

#include "kernbench/error.hpp"
#include "python/host.hpp"
#include "runtime/engine.hpp"

namespace kernbench::python {

std::optional<Grid> grid_of(py::handle value) {
  if (value.is_none()) return {};
  const Shape grid = shape_of(value);
  if (grid.rank() < 1 || grid.rank() > 2) throw py::type_error("a grid is (PEs, cubes)");
  return Grid{static_cast<int>(grid[0]), grid.rank() == 2 ? static_cast<int>(grid[1]) : 1};
}

namespace {

using TorchClass = py::class_<PyTorch>;

PyTensor tensor_of(const PyTorch& self, Tensor tensor) { return {self.host, std::move(tensor)}; }

template <class Make>
PyTensor make(const PyTorch& self, py::handle dp, Make fn) {
  Torch& torch = self.host->torch();
  const auto policy = policy_of(dp);
  return tensor_of(self, self.host->work([&] { return fn(torch, policy); }));
}

void bind_tensors(TorchClass& c) {
  const py::none none;
  c.def(
      "empty",
      [](const PyTorch& s, const Shape& shape, DType dtype, py::handle dp, std::string name,
         const std::string& mem) {
        return make(s, dp, [&](Torch& torch, const auto& policy) {
          return torch.empty(shape, dtype, policy, name, space_of(mem));
        });
      },
      py::arg("shape"), py::arg("dtype") = "f16", py::arg("dp") = none, py::arg("name") = "",
      py::arg("mem") = "hbm", "A tensor without content, in hbm, tcm or sram.");
  c.def(
      "zeros",
      [](const PyTorch& s, const Shape& shape, DType dtype, py::handle dp, std::string name,
         const std::string& mem) {
        return make(s, dp, [&](Torch& torch, const auto& policy) {
          return torch.zeros(shape, dtype, policy, name, space_of(mem));
        });
      },
      py::arg("shape"), py::arg("dtype") = "f16", py::arg("dp") = none, py::arg("name") = "",
      py::arg("mem") = "hbm");
  c.def(
      "full",
      [](const PyTorch& s, const Shape& shape, double value, DType dtype, py::handle dp, std::string name,
         const std::string& mem) {
        return make(s, dp, [&](Torch& torch, const auto& policy) {
          return torch.full(shape, value, dtype, policy, name, space_of(mem));
        });
      },
      py::arg("shape"), py::arg("value"), py::arg("dtype") = "f16", py::arg("dp") = none,
      py::arg("name") = "", py::arg("mem") = "hbm");
  c.def(
      "from_numpy",
      [](const PyTorch& s, py::handle array, py::handle dp, std::string name, py::handle dtype,
         const std::string& mem) {
        auto copy = array_of(array, dtype.is_none() ? std::optional<DType>() : dtype_of(dtype));
        return make(s, dp, [&](Torch& torch, const auto& policy) {
          return torch.from_numpy(std::move(copy), policy, name, space_of(mem));
        });
      },
      py::arg("array"), py::arg("dp") = none, py::arg("name") = "", py::kw_only(), py::arg("dtype") = none,
      py::arg("mem") = "hbm",
      "A tensor with the content that the array has now. The dtype is the array's, or is converted to the "
      "one given.");
}

PyHandle launch(const PyTorch& self, const std::string& name, const py::object& kernel, const py::tuple& args,
                const py::dict& kwargs, int tl_at, py::handle grid) {
  Host& host = *self.host;
  Torch& torch = host.torch();
  const Call call = call_of(kernel, args, kwargs, tl_at);
  const LaunchOptions options{name, grid_of(grid)};
  const auto body = [&](tl::Context& tl) { host.call_python([&] { call.run(tl, &host); }); };
  return {self.host, host.work([&] {
            return host.plain_wiring ? launch_wired(torch, *host.plain_wiring, options, call.tensors, body)
                                     : torch.launch_body(options, call.tensors, body);
          })};
}

void bind_launches(TorchClass& c) {
  c.def("_launch", &launch, py::arg("name"), py::arg("kernel"), py::arg("args"), py::arg("kwargs"),
        py::arg("tl_at"), py::arg("grid"));
  c.def(
      "wait",
      [](const PyTorch& s, const PyHandle& handle) {
        Torch& torch = s.host->torch();
        const Handle request = handle.get();
        s.host->work([&] { torch.wait(request); });
      },
      py::arg("handle"), "Lets the clock run until the request is complete.");
  c.def(
      "synchronize",
      [](const PyTorch& s) {
        Torch& torch = s.host->torch();
        s.host->work([&] { torch.synchronize(); });
      },
      "Lets the clock run until everything that was submitted is complete.");
  c.def(
      "close", [](const PyTorch& s) { s.host->finish(); },
      "Completes everything. Nothing more can be submitted; traces and log can still be looked at.");
  c.def("_abandon", [](const PyTorch& s) { s.host->abandon(); });
  c.def("_stop", [](const PyTorch& s) { s.host->stop(); });
}

void bind_devices(TorchClass& c) {
  c.def("_set_device", [](const PyTorch& s, int rank) { s.host->torch().ahbm.set_device(rank); });
  c.def("_current_device", [](const PyTorch& s) { return s.host->torch().ahbm.current_device(); });
  c.def("_device_was_set", [](const PyTorch& s) {
    const runtime::Engine& engine = s.host->torch().engine();
    return engine.host().device_set || engine.main_host().device_set;
  });
  c.def("_device_of_sip",
        [](const PyTorch& s, int sip) { return s.host->torch().engine().stream_of_sip(sip).number(); });
  c.def(
      "_on_device",
      [](const PyTorch& s, int device) {
        runtime::HostThread& host = s.host->torch().engine().host();
        return std::exchange(host.device, device);
      },
      "Moves to a device for a moment, without counting as set_device. Returns the one before.");
  c.def("_device_count", [](const PyTorch& s) { return s.host->torch().ahbm.device_count(); });
}

void bind_history(TorchClass& c) {
  c.def_property_readonly("machine", [](const PyTorch& s) { return s.host->torch_to_look_at().machine(); });
  c.def_property_readonly("has_data", [](const PyTorch& s) { return s.host->torch_to_look_at().has_data(); });
  c.def_property_readonly(
      "now_ns", [](const PyTorch& s) { return s.host->torch_to_look_at().now().ns(); },
      "The host's clock, in simulated nanoseconds.");
  c.def_property_readonly("events", [](const PyTorch& s) { return s.host->torch_to_look_at().events(); });
  c.def_property_readonly(
      "taken_over", [](const PyTorch& s) { return s.host->torch_to_look_at().taken_over(); },
      "Launches that came again in the same state and were not simulated.");
  c.def_property_readonly(
      "traces", [](const PyTorch& s) { return s.host->torch_to_look_at().traces(); },
      "The completed requests, in the order of submission.");
  c.def_property_readonly("closed", [](const PyTorch& s) { return s.host->is_over(); });
}

/// The bytes of a tensor as they lie in memory, without a request of the host.
py::array look(const PyTorch& self, const PyTensor& tensor) {
  const Tensor& t = tensor.get();
  NdArray array(t.dtype(), t.shape());
  runtime::Engine& engine = self.host->torch().engine();
  self.host->work([&] { engine.read_memory({t.sip(), 0, 0}, t.ptr().address(), array.bytes()); });
  return to_numpy(std::move(array));
}

py::object tensor_at(const PyTorch& self, std::uint64_t address) {
  const runtime::TensorState* tensor = self.host->torch().engine().tensor_at(address);
  if (tensor == nullptr) return py::none();
  const auto& storage = *tensor->storage();
  const auto begin = storage.base.raw();
  return py::make_tuple(begin, begin + static_cast<std::uint64_t>(tensor->layout().bytes()), storage.name);
}

py::object layout_at(const PyTorch& self, std::uint64_t address) {
  const runtime::TensorState* const tensor = self.host->torch().engine().tensor_at(address);
  if (tensor == nullptr) return py::none();
  const runtime::Storage& storage = *tensor->storage();
  return py::make_tuple(storage.base.raw(), tensor->layout().shape(), storage.dtype, storage.policy);
}

py::array peek(const PyTorch& self, const std::string& space, std::uint64_t address, const Shape& shape,
               DType dtype) {
  NdArray array(dtype, shape);
  runtime::Engine& engine = self.host->torch().engine();
  self.host->work([&] { engine.peek_memory(space_of(space), address, array.bytes()); });
  return to_numpy(std::move(array));
}

void poke(const PyTorch& self, const std::string& space, std::uint64_t address, py::handle values) {
  const NdArray array = array_of(values);
  runtime::Engine& engine = self.host->torch().engine();
  self.host->work([&] { engine.poke_memory(space_of(space), address, array.bytes()); });
}

void bind_memory(TorchClass& c) {
  c.def("_peek", &peek, py::arg("space"), py::arg("addr"), py::arg("shape"), py::arg("dtype"));
  c.def("_poke", &poke, py::arg("space"), py::arg("addr"), py::arg("array"));
  c.def("_look", &look);
  c.def("_tensor_at", &tensor_at);
  c.def("_layout_at", &layout_at, "(begin, shape, dtype, dp) of the tensor at an address, or None.");
  c.def_property_readonly("_host_id",
                          [](const PyTorch& s) { return reinterpret_cast<std::uintptr_t>(s.host.get()); });
}

PyTorch make_context(const topology::Machine& machine, bool data, int threads, int replay_threads,
                     bool hazards, bool skip, const std::string& log, const std::string& log_folder) {
  TorchOptions options;
  options.data = data;
  options.threads = threads;
  options.replay_threads = replay_threads;
  options.hazards = hazards;
  options.skip = skip;
  options.log_folder = log_folder;
  if (log == "disk")
    options.log = runtime::LogStorage::disk;
  else if (log == "none")
    options.log = runtime::LogStorage::none;
  else if (log != "memory")
    throw InputError({"python.log", "", fmt::format("log is '{}'", log), "one of memory, disk, none"});
  return PyTorch(std::make_shared<Host>(machine, std::move(options)));
}

/// `<launch 'scale' on sip0: 1234.500 ns, pe_exec 1100.000 ns>`
std::string handle_repr(const PyHandle& handle) {
  const auto request = handle.request.lock();
  if (!request) return "<a request of a context that is over>";
  const std::string text = fmt::format("<{} '{}' on sip{}: ", to_string(request->phase()), request->name(),
                                       request->stream().sip());
  if (!request->done()) return text + "not done yet>";
  const runtime::Trace trace = request->trace();
  return text + fmt::format("{:.3f} ns, pe_exec {:.3f} ns>", trace.total_ns(), trace.pe_exec_ns());
}

void bind_handle(py::module_& m) {
  py::class_<PyHandle>(m, "Handle", "A request to wait for.")
      .def_property_readonly("done", [](const PyHandle& h) { return h.get().done(); })
      .def_property_readonly(
          "trace", [](const PyHandle& h) { return h.get().trace(); }, "When and how long, once it is done.")
      .def("__repr__", &handle_repr);
}

}  // namespace

void bind_context(py::module_& m) {
  bind_handle(m);
  TorchClass c(m, "Torch", py::dynamic_attr(), "One simulated machine and a host program's view of it.");
  c.def(py::init(&make_context), py::arg("machine"), py::kw_only(), py::arg("data") = true,
        py::arg("threads") = 0, py::arg("replay_threads") = 0, py::arg("hazards") = false,
        py::arg("skip") = true, py::arg("log") = "memory", py::arg("log_folder") = ".");
  c.def(py::init([](const PyTorch& other) { return PyTorch(other.host); }), py::arg("other"));
  bind_tensors(c);
  bind_launches(c);
  bind_devices(c);
  bind_history(c);
  bind_memory(c);
}

}  // namespace kernbench::python
