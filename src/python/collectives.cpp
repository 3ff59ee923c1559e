#include "python/collectives.hpp"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include "kernbench/error.hpp"
#include "kernbench/functional.hpp"
#include "python/host.hpp"
#include "python/recording.hpp"
#include "python/registry.hpp"

namespace kernbench::python {

ccl::Registry& collectives() { return registry().collectives; }

namespace {

/// A kernel of Python for whoever records it, with or without the GIL.
ccl::Kernel kernel_of(const py::object& kernel, int tl_at) {
  const auto held = hold(kernel);
  return [held, tl_at](tl::Context& tl, const ccl::Call& call) {
    call_from_engine(
        [&](Host* host) { call_of(*held, py::make_tuple(py::cast(call)), py::dict(), tl_at).run(tl, host); });
  };
}

ccl::Collective collective_of(const std::string& name) {
  using enum ccl::Collective;
  for (const auto kind :
       {all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, send_recv, barrier, other})
    if (name == to_string(kind)) return kind;
  throw InputError({"python.collective", "", fmt::format("unknown collective '{}'", name),
                    "all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, other"});
}

std::vector<ccl::Group> groups_of(const std::vector<std::string>& names) {
  std::vector<ccl::Group> groups;
  for (const auto& name : names) {
    const auto size = groups.size();
    for (const auto group : {ccl::Group::sip, ccl::Group::cube, ccl::Group::pe})
      if (name == to_string(group)) groups.push_back(group);
    if (groups.size() == size)
      throw InputError({"python.group", "", fmt::format("unknown group '{}'", name), "sip, cube, pe"});
  }
  return groups;
}

void bind_call(py::module_& m) {
  using ccl::Call;
  py::class_<Call>(m, "CollectiveCall", "What a collective's kernel is told on each PE.")
      .def_readonly("input", &Call::input, "The tensor.")
      .def_readonly("output", &Call::output, "Of collectives whose result is another tensor.")
      .def_property_readonly("op", [](const Call& c) { return std::string(to_string(c.op)); })
      .def_readonly("root", &Call::root)
      .def_readonly("rank", &Call::rank, "Of the running PE among those it exchanges with.")
      .def_readonly("world_size", &Call::world_size)
      .def_property_readonly("grid", [](const Call& c) { return py::make_tuple(c.grid.x, c.grid.y); })
      .def_readonly("slots", &Call::slots, "Of each queue.")
      .def_readonly("sip", &Call::sip)
      .def_property_readonly(
          "cube_mesh",
          [](const Call& c) { return py::make_tuple(c.machine.cube_mesh.x, c.machine.cube_mesh.y); })
      .def_property_readonly(
          "sip_grid",
          [](const Call& c) { return py::make_tuple(c.machine.sip_grid.x, c.machine.sip_grid.y); })
      .def_property_readonly("cubes", [](const Call& c) { return c.machine.cubes; })
      .def_property_readonly("pes", [](const Call& c) { return c.machine.pes; })
      .def_property_readonly("root_cube", [](const Call& c) { return c.machine.root_cube; });
}

void add_collective(const std::string& name, const std::string& description, const std::string& collective,
                    const std::string& topology, const std::string& mapper, const std::string& validator,
                    const std::vector<std::string>& serves, const py::object& kernel, int tl_at) {
  collectives().add(ccl::Algorithm{.name = name,
                                   .description = description,
                                   .collective = collective_of(collective),
                                   .topology = topology,
                                   .mapper = mapper,
                                   .validator = validator,
                                   .serves = groups_of(serves),
                                   .kernel = kernel_of(kernel, tl_at)});
}

// ── the functional runner ──

std::vector<std::vector<NdArray>> tensors_of(const py::list& inputs) {
  std::vector<std::vector<NdArray>> tensors;
  for (const py::handle of_rank : inputs) {
    auto& list = tensors.emplace_back();
    for (const py::handle array : of_rank) list.push_back(array_of(array));
  }
  return tensors;
}

ccl::Links links_of(const py::handle& topology, const std::vector<PeCoord>& ranks) {
  if (py::isinstance<py::str>(topology)) return ccl::neighbours(topology.cast<std::string>(), ranks);
  ccl::Links links;
  for (const py::handle item : topology) {
    const py::tuple link = py::reinterpret_borrow<py::tuple>(item);
    const auto at = [&](std::size_t i) { return ranks.at(static_cast<std::size_t>(link[i].cast<int>())); };
    links.push_back({at(0), link[1].cast<std::string>(), at(2)});
  }
  return links;
}

py::list arrays_of(std::vector<std::vector<NdArray>>& tensors) {
  py::list all;
  for (auto& of_rank : tensors) {
    py::list list;
    for (auto& array : of_rank) list.append(to_numpy(std::move(array)));
    all.append(list);
  }
  return all;
}

/// `kernel(pointers, rank, world_size, tl)` is called for every rank.
py::dict run_functional(const py::object& kernel, const std::vector<PeCoord>& ranks, py::handle topology,
                        const py::list& inputs, const std::string& name,
                        std::optional<std::int64_t> slot_size, std::optional<int> slots,
                        const std::map<int, std::vector<std::string>>& any_order) {
  const ccl::FunctionalWorld world{ranks, links_of(topology, ranks), tensors_of(inputs)};
  ccl::FunctionalOptions options{.kernel = name, .slot_size = {}, .slots = slots, .any_order = any_order};
  if (slot_size) options.slot_size = Bytes(*slot_size);
  const auto body = [&](tl::Context& tl, const ccl::FunctionalRank& me) {
    py::list pointers;
    for (const auto ptr : me.tensors) pointers.append(py::cast(ptr));
    call_of(kernel, py::make_tuple(pointers, me.rank, me.world_size), py::dict(), 3).run(tl, nullptr);
  };
  auto result = ccl::run_functional(ccl::FunctionalKernel(body), world, options);
  py::dict said;
  said["tensors"] = arrays_of(result.tensors);
  said["messages"] = result.messages;
  said["bytes"] = result.bytes.count();
  said["busiest_link"] = result.busiest_link.count();
  said["rounds"] = result.rounds;
  said["unread"] = result.unread;
  return said;
}

py::dict run_functional_algorithm(const std::string& algorithm, const topology::Machine& machine,
                                  const std::string& group, int world_size, const py::list& inputs,
                                  const std::string& op, int root) {
  ccl::Registry& known = collectives();
  ccl::MemberRequest who{.group = groups_of({group}).front()};
  if (world_size > 0) who.world_size = world_size;
  const auto members = ccl::members_of(machine, known.mapper(known.algorithm(algorithm).mapper), who);
  ccl::Call call;
  call.op = ccl::parse_reduce_op(op);
  call.root = root;
  auto result = ccl::run_functional(known, algorithm, members, tensors_of(inputs), call);
  py::dict said;
  said["tensors"] = arrays_of(result.tensors);
  said["messages"] = result.messages;
  said["rounds"] = result.rounds;
  return said;
}

}  // namespace

void bind_collectives(py::module_& m) {
  bind_call(m);
  m.def("add_collective", &add_collective);
  m.def("collective_names", [] {
    std::vector<std::string> names;
    for (const auto& algorithm : collectives().algorithms()) names.push_back(algorithm.name);
    return names;
  });
  m.def("describe_collective", [](const std::string& name) {
    const auto& algorithm = collectives().algorithm(name);
    py::dict said;
    said["name"] = algorithm.name;
    said["description"] = algorithm.description;
    said["collective"] = std::string(to_string(algorithm.collective));
    said["topology"] = algorithm.topology;
    said["mapper"] = algorithm.mapper;
    said["validator"] = algorithm.validator;
    return said;
  });
  m.def("run_functional", &run_functional);
  m.def("run_functional_algorithm", &run_functional_algorithm);
  m.def("first_pes", [](int n) { return ccl::first_pes(n); });
}

}  // namespace kernbench::python
