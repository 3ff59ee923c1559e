// Ranks, the process group, collectives, and launches whose kernels talk to each other.
#include <fmt/format.h>
#include <pybind11/stl.h>

#include "base/text.hpp"
#include "dist/strand.hpp"
#include "dist/switches.hpp"
#include "kernbench/error.hpp"
#include "python/collectives.hpp"
#include "python/host.hpp"
#include "python/rank_threads.hpp"

namespace kernbench::python {
namespace {

// ── ranks ──

/// Ctrl-C in a rank stops them all and is no failure of that rank.
void run_rank(const py::object& fn, int rank) {
  try {
    fn(rank);
  } catch (const py::error_already_set& error) {
    if (!error.matches(PyExc_KeyboardInterrupt)) throw Raised(error);
    throw runtime::Interrupted(
        {"python.interrupted", fmt::format("rank {}", rank), "the run was stopped", ""});
  }
}

void spawn(const PyTorch& self, const py::object& fn, int nprocs) {
  Host& host = *self.host;
  Torch& torch = host.torch();
  RankThreads threads(host);
  host.work([&] {
    dist::spawn(
        torch, [&](int rank) { host.call_python([&] { run_rank(fn, rank); }); }, nprocs, threads);
  });
}

// ── collectives ──

/// A collective that was called; empty once its context is over.
struct PyWork {
  HostPtr host;
  std::unique_ptr<std::optional<dist::Work>> work;

  PyWork(HostPtr h, dist::Work w)
      : host(std::move(h)), work(std::make_unique<std::optional<dist::Work>>(std::move(w))) {
    host->keep(work.get());
  }
  PyWork(PyWork&&) = default;
  ~PyWork() {
    if (work) host->forget(work.get());
  }
  const dist::Work& get() const { return host->torch(), work->value(); }
};

dist::Group group_of(py::handle value) {
  if (value.is_none()) return {};
  if (py::hasattr(value, "_group")) return group_of(value.attr("_group"));
  if (py::isinstance<py::str>(value)) {
    const auto name = value.cast<std::string>();
    if (name == "cubes") return dist::Group(Torch::Ahbm::cubes);
    if (name == "pes") return dist::Group(Torch::Ahbm::pes);
    throw InputError({"dist.group", "group", fmt::format("group '{}'", name),
                      "give torch.ahbm.cubes, torch.ahbm.pes, a list of ranks, or none for all"});
  }
  std::vector<int> ranks;
  for (const py::handle rank : value) ranks.push_back(rank.cast<int>());
  return dist::Group::of(std::move(ranks));
}

dist::ReduceOp op_of(py::handle value) {
  std::string name = py::str(py::hasattr(value, "name") ? value.attr("name") : py::object(py::str(value)));
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return ccl::parse_reduce_op(name);
}

template <class Fn>
PyWork call(const PyTensor& tensor, Fn fn) {
  tensor.get();
  return {tensor.host, tensor.host->work(fn)};
}

using Class = py::class_<PyTorch>;

void bind_collectives(Class& c) {
  const py::none none;
  c.def("_all_reduce", [](const PyTorch&, const PyTensor& t, py::handle op, py::handle group, bool async_op) {
    const auto how = op_of(op);
    const auto members = group_of(group);
    return call(t, [&] { return dist::all_reduce(t.tensor, how, members, async_op); });
  });
  c.def("_broadcast", [](const PyTorch&, const PyTensor& t, int src, py::handle group, bool async_op) {
    const auto members = group_of(group);
    return call(t, [&] { return dist::broadcast(t.tensor, src, members, async_op); });
  });
  c.def("_reduce",
        [](const PyTorch&, const PyTensor& t, int dst, py::handle op, py::handle group, bool async_op) {
          const auto how = op_of(op);
          const auto members = group_of(group);
          return call(t, [&] { return dist::reduce(t.tensor, dst, how, members, async_op); });
        });
  c.def("_all_gather", [](const PyTorch&, const PyTensor& out, const PyTensor& in, py::handle group,
                          bool async_op) {
    const auto members = group_of(group);
    in.get();
    return call(out, [&] { return dist::all_gather_into_tensor(out.tensor, in.tensor, members, async_op); });
  });
  c.def("_reduce_scatter", [](const PyTorch&, const PyTensor& out, const PyTensor& in, py::handle op,
                              py::handle group, bool async_op) {
    const auto how = op_of(op);
    const auto members = group_of(group);
    in.get();
    return call(out,
                [&] { return dist::reduce_scatter_tensor(out.tensor, in.tensor, how, members, async_op); });
  });
  c.def("_all_to_all",
        [](const PyTorch&, const PyTensor& out, const PyTensor& in, py::handle group, bool async_op) {
          const auto members = group_of(group);
          in.get();
          return call(out, [&] { return dist::all_to_all_single(out.tensor, in.tensor, members, async_op); });
        });
  c.def("_send", [](const PyTorch&, const PyTensor& t, int dst, bool async_op) {
    return call(t, [&] { return dist::send(t.tensor, dst, async_op); });
  });
  c.def("_recv", [](const PyTorch&, const PyTensor& t, int src, bool async_op) {
    return call(t, [&] { return dist::recv(t.tensor, src, async_op); });
  });
  c.def("_barrier", [](const PyTorch& s, py::handle group, bool async_op) {
    Torch& torch = s.host->torch();
    const auto members = group_of(group);
    return PyWork(s.host, s.host->work([&] { return dist::barrier(torch, members, async_op); }));
  });
}

void bind_group(Class& c) {
  c.def("_spawn", &spawn);
  c.def("_rank", [](const PyTorch& s) { return dist::get_rank(s.host->torch()); });
  c.def("_world_size", [](const PyTorch& s) { return dist::get_world_size(s.host->torch()); });
  c.def("_is_initialized", [](const PyTorch& s) { return dist::is_initialized(s.host->torch()); });
  c.def("_ranks_are_pes", [](const PyTorch& s) { return dist::ranks_are_pes(s.host->torch()); });
  c.def("_init_process_group",
        [](const PyTorch& s, const std::string& backend, const std::vector<int>& rank_to_sip) {
          Torch& torch = s.host->torch();
          s.host->work([&] { dist::init_process_group(torch, backend, rank_to_sip); });
        });
  c.def("_yield", [](const PyTorch& s) {
    Torch& torch = s.host->torch();
    s.host->work([&] { dist::cooperative_yield(torch); });
  });
  c.def("_configure", [](const PyTorch& s, const std::string& file, py::handle overrides) {
    dist::configure(s.host->torch(), file, words_of(overrides), collectives());
  });
  c.def("_configured_all_reduce", [](const PyTorch& s) {
    const auto all_reduce = dist::configured_all_reduce(s.host->torch());
    py::dict said;
    said["name"] = all_reduce.name;
    said["every_pe"] = all_reduce.every_pe;
    said["n_elem"] = all_reduce.n_elem;
    return said;
  });
}

PyHandle launch_with_queues(const PyTorch& self, const std::string& name, const py::object& kernel,
                            const py::tuple& args, const py::dict& kwargs, int tl_at, py::handle grid,
                            const std::string& topology, const std::string& mapper, py::handle group) {
  Host& host = *self.host;
  Torch& torch = host.torch();
  const Call call = call_of(kernel, args, kwargs, tl_at);
  const dist::QueueLaunch options{name, topology, mapper, group_of(group), grid_of(grid)};
  const auto body = [&](tl::Context& tl) { host.call_python([&] { call.run(tl, &host); }); };
  return {self.host, host.work([&] { return dist::launch_body(torch, options, call.tensors, body); })};
}

/// Warnings are those of the `warnings` module, at the line that called into the package.
void warn_in_python(const std::string& text) {
  call_from_engine([&](Host*) { py::module_::import("kernbench._errors").attr("warn")(text); });
}

}  // namespace

void bind_dist(py::module_& m) {
  dist::set_warner(warn_in_python);
  py::class_<PyWork>(m, "Work", "A collective that was called.")
      .def(
          "wait",
          [](const PyWork& w) {
            const dist::Work& work = w.get();
            w.host->work([&] { work.wait(); });
          },
          "Returns when this rank's part is complete.")
      .def("is_completed", [](const PyWork& w) { return w.get().is_completed(); })
      .def_property_readonly("trace", [](const PyWork& w) { return w.get().trace(); })
      .def_property_readonly("algorithm", [](const PyWork& w) { return w.get().algorithm(); });
  auto torch = py::reinterpret_borrow<Class>(m.attr("Torch"));
  bind_group(torch);
  bind_collectives(torch);
  torch.def("_launch_with_queues", &launch_with_queues);
}

}  // namespace kernbench::python
