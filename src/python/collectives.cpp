#include "python/collectives.hpp"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include "address/memory_pools.hpp"
#include "ccl/plan.hpp"
#include "kernbench/error.hpp"
#include "kernbench/functional.hpp"
#include "python/host.hpp"
#include "python/recording.hpp"
#include "python/registry.hpp"
#include "runtime/memory_layout.hpp"

namespace kernbench::python {

ccl::Registry& collectives() { return registry().collectives; }

ccl::Links links_from(const py::handle& links, const std::vector<PeCoord>& ranks) {
  ccl::Links all;
  for (const py::handle item : links) {
    const bool is_link = py::isinstance<py::tuple>(item) && py::len(item) == 3;
    if (!is_link)
      throw py::type_error("a link is (rank, direction, rank), not " + std::string(py::repr(item)));
    const auto link = py::reinterpret_borrow<py::tuple>(item);
    const auto at = [&](std::size_t i) {
      const auto rank = link[i].cast<std::int64_t>();
      if (rank < 0 || rank >= std::ssize(ranks))
        throw py::value_error("a link names rank " + std::to_string(rank) + " of " +
                              std::to_string(ranks.size()));
      return ranks[static_cast<std::size_t>(rank)];
    };
    all.push_back({at(0), link[1].cast<std::string>(), at(2)});
  }
  return all;
}

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
      .def_property_readonly("root_cube", [](const Call& c) { return c.machine.root_cube; })
      .def_property_readonly(
          "config",
          [](const Call& c) {
            py::dict config;
            if (c.config)
              for (const auto& [key, value] : *c.config) config[py::str(key)] = value;
            return config;
          },
          "What the entry of ccl.yaml says to the kernel, as texts.");
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

// ── modules of Python, named in ccl.yaml by their import path ──

/// (rank, direction, rank) for each link between these PEs.
py::list by_rank(const ccl::Links& links, const std::vector<PeCoord>& ranks) {
  const auto rank_of = [&](PeCoord pe) { return std::ranges::find(ranks, pe) - ranks.begin(); };
  py::list all;
  for (const auto& link : links)
    if (link.sends) all.append(py::make_tuple(rank_of(link.pe), link.direction, rank_of(link.peer)));
  return all;
}

/// `rewire(world_size, links)` gives the links of each lane, or None for those of the topology.
void add_module(const std::string& path, const std::string& description, const py::object& kernel, int tl_at,
                const py::object& rewire) {
  ccl::Algorithm algorithm{.name = path,
                           .description = description,
                           .topology = "ring_1d",
                           .mapper = "leader_only",
                           .kernel = kernel_of(kernel, tl_at)};
  algorithm.any_topology = true;
  algorithm.rewire = [held = hold(rewire)](const ccl::Members& members, const ccl::Links& links) {
    ccl::Links all;
    call_from_engine([&](Host*) {
      for (const auto& lane : members.lanes) {
        ccl::Links of_lane;
        for (const auto& link : links)
          if (std::ranges::find(lane, link.pe) != lane.end()) of_lane.push_back(link);
        const py::object own = (*held)(lane.size(), by_rank(of_lane, lane));
        if (!own.is_none()) of_lane = links_from(own, lane);
        all.insert(all.end(), of_lane.begin(), of_lane.end());
      }
    });
    return all;
  };
  collectives().add(std::move(algorithm));
}

py::object machine_of(Host* host) {
  return host == nullptr ? py::none() : py::object(py::cast(host->torch_to_look_at().machine()));
}

/// `fn(machine or None)` gives [(cube, pe), …].
void add_mapper(const std::string& path, const py::object& fn) {
  collectives().add(
      ccl::Mapper{path, "of Python", [held = hold(fn)](ccl::Group, const ccl::Arrangement&) {
                    std::vector<ccl::Mapper::Pick> picks;
                    call_from_engine([&](Host* host) {
                      for (const py::handle pick : (*held)(machine_of(host)))
                        picks.push_back({pick[py::int_(0)].cast<int>(), pick[py::int_(1)].cast<int>()});
                    });
                    return picks;
                  }});
}

/// `fn(machine or None, shards, world_size)` raises what is wrong; shards are (PE, elements).
void add_validator(const std::string& path, const py::object& fn) {
  collectives().add(
      ccl::Validator{path, "of Python",
                     [held = hold(fn)](std::span<const ccl::HeldShard> shards, const ccl::Members& members) {
                       call_from_engine([&](Host* host) {
                         py::list all;
                         for (const auto& shard : shards)
                           all.append(py::make_tuple(shard.pe, shard.elements));
                         (*held)(machine_of(host), all, members.world_size());
                       });
                       return std::string();
                     }});
}

/// The neighbours of a topology: [(rank, direction, rank)]. With a machine those of its members, else those of `n` ranks.
py::list topology_links(const std::string& topology, std::optional<topology::Machine> machine, int n) {
  const auto& shipped = collectives().topologies();
  const bool by_name = std::ranges::find(shipped, topology, &ccl::Topology::name) != shipped.end();
  if (!machine || !by_name) {
    const auto ranks = ccl::first_pes(n);
    return by_rank(ccl::neighbours(topology, ranks), ranks);
  }
  const auto members =
      ccl::members_of(*machine, collectives().mapper("all_pes"), {.group = ccl::Group::pe, .world_size = n});
  return by_rank(collectives().topology(topology).links(members), members.lanes.front());
}

py::list picks_of(const std::string& mapper, const topology::Machine& machine) {
  const auto members = ccl::members_of(machine, collectives().mapper(mapper));
  py::list picks;
  for (const auto& lane : members.lanes) picks.append(py::make_tuple(lane.front().cube, lane.front().pe));
  return picks;
}

template <class T>
std::vector<std::string> names_of(const std::vector<T>& items) {
  std::vector<std::string> names;
  for (const T& item : items) names.push_back(item.name);
  return names;
}

/// The plan of an entry of a ccl.yaml: (PE, rank, [(direction, peer, receives from, sends to)]) for each PE, and its rules.
py::dict plan_of(const topology::Machine& machine, const std::string& text, const std::string& name) {
  const auto& registry = collectives();
  const auto config = ccl::load_config_text(text, "algorithm_config", {}, registry);
  const auto settings = config.settings(name);
  address::MemoryPools pools(runtime::memory_layout(machine));
  const auto plan =
      ccl::make_plan(registry, settings, machine, pools, {.group = ccl::usual_group(registry, settings)});
  py::list pes;
  for (const auto& pe : plan.wiring.pes) {
    py::list ends;
    for (const auto& end : pe.ends)
      ends.append(py::make_tuple(end.direction, end.peer, end.receives_from.raw(), end.sends_to.raw()));
    pes.append(py::make_tuple(pe.pe, plan.members.call(pe.pe).rank, ends));
  }
  py::dict said;
  said["pes"] = pes;
  said["world_size"] = plan.members.world_size();
  said["buffer_kind"] = address::to_string(settings.rules.memory);
  said["n_slots"] = settings.rules.slots;
  said["slot_size"] = settings.rules.slot_size.count();
  return said;
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
  return links_from(topology, ranks);
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
/// `answer_of(rank)` gives the number that the kernel asks for next, or None. Returns what came out, whether a kernel asked for
/// a number that is not known yet, and the numbers that became known: [(rank, array)].
py::tuple run_functional(const py::object& kernel, const std::vector<PeCoord>& ranks, py::handle topology,
                         const py::list& inputs, const std::string& name,
                         std::optional<std::int64_t> slot_size, std::optional<int> slots,
                         const std::map<int, std::vector<std::string>>& any_order,
                         const py::object& answer_of) {
  std::vector<ccl::AskedValue> asked;
  const ccl::FunctionalWorld world{ranks, links_of(topology, ranks), tensors_of(inputs)};
  ccl::FunctionalOptions options{.kernel = name, .slot_size = {}, .slots = slots, .any_order = any_order};
  if (slot_size) options.slot_size = Bytes(*slot_size);
  options.asked = &asked;
  const auto body = [&](tl::Context& tl, const ccl::FunctionalRank& me) {
    py::list pointers;
    for (const auto ptr : me.tensors) pointers.append(py::cast(ptr));
    Call call = call_of(kernel, py::make_tuple(pointers, me.rank, me.world_size), py::dict(), 3);
    call.data_source = py::cpp_function([&, rank = me.rank](isa::ValueId value) {
      const py::object known = answer_of(rank);
      if (!known.is_none()) return known;
      asked.push_back({rank, value});
      PyErr_SetNone(py::module_::import("kernbench._functional").attr("NotYetKnown").ptr());
      throw py::error_already_set();
    });
    try {
      call.run(tl, nullptr);
    } catch (const py::error_already_set&) {
      if (asked.empty() || asked.back().rank != me.rank) throw;
      throw ccl::StopRecording();
    }
  };
  auto result = ccl::run_functional(ccl::FunctionalKernel(body), world, options);
  py::dict said;
  said["tensors"] = arrays_of(result.tensors);
  said["messages"] = result.messages;
  said["bytes"] = result.bytes.count();
  said["busiest_link"] = result.busiest_link.count();
  said["rounds"] = result.rounds;
  said["unread"] = result.unread;
  py::list answers;
  for (auto& a : asked)
    if (a.content.elements() > 0) answers.append(py::make_tuple(a.rank, to_numpy(std::move(a.content))));
  return py::make_tuple(said, !asked.empty(), answers);
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
  m.def("add_module", &add_module);
  m.def("add_mapper", &add_mapper);
  m.def("add_validator", &add_validator);
  m.def("topology_links", &topology_links);
  m.def("mapper_picks", &picks_of);
  m.def("collective_plan", &plan_of);
  m.def("topology_names", [] { return names_of(collectives().topologies()); });
  m.def("mapper_names", [] { return names_of(collectives().mappers()); });
  m.def("validator_names", [] { return names_of(collectives().validators()); });
  m.def("run_functional", &run_functional);
  m.def("run_functional_algorithm", &run_functional_algorithm);
  m.def("first_pes", [](int n) { return ccl::first_pes(n); });
}

}  // namespace kernbench::python
