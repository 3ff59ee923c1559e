// What the modules with the prototype's names need beyond the package: YAML files as dicts, wirings installed ahead of
// plain launches, shipped benches over a context of one's own.
#include <fmt/format.h>
#include <pybind11/stl.h>

#include "base/file.hpp"
#include "base/parse.hpp"
#include "base/text.hpp"
#include "base/yaml.hpp"
#include "bench/run.hpp"
#include "dist/state.hpp"
#include "kernbench/distributed.hpp"
#include "kernbench/error.hpp"
#include "kernbench/run_bench.hpp"
#include "python/collectives.hpp"
#include "python/host.hpp"
#include "python/registry.hpp"
#include "runtime/launch.hpp"

namespace kernbench::python {
namespace {

// ── YAML ──

py::object scalar_of(const YamlNode& node) {
  const std::string& text = node.scalar;
  if (node.quoted) return py::str(text);
  if (text == "true" || text == "True") return py::bool_(true);
  if (text == "false" || text == "False") return py::bool_(false);
  if (text.empty() || text == "null" || text == "~") return py::none();
  if (const auto integer = parse_whole<std::int64_t>(text)) return py::int_(*integer);
  if (const auto number = parse_whole<double>(text)) return py::float_(*number);
  return py::str(text);
}

py::object object_of(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null:
      return py::none();
    case YamlNode::Kind::scalar:
      return scalar_of(node);
    case YamlNode::Kind::list: {
      py::list items;
      for (const auto& item : node.items) items.append(object_of(item));
      return items;
    }
    case YamlNode::Kind::map: {
      py::dict entries;
      for (const auto& entry : node.entries) entries[py::str(entry.key)] = object_of(entry.value);
      return entries;
    }
  }
  return py::none();
}

// ── wirings ──

ccl::Group group_of(const std::string& name) {
  for (const auto group : {ccl::Group::sip, ccl::Group::cube, ccl::Group::pe})
    if (name == to_string(group)) return group;
  throw InputError({"python.group", "", fmt::format("unknown group '{}'", name), "sip, cube, pe"});
}

ccl::PlanRequest request_of(const PlainWiring& wiring) {
  ccl::PlanRequest request{.group = group_of(wiring.group)};
  if (!wiring.ranks.empty()) request.lanes = {wiring.ranks};
  request.links = wiring.links;
  return request;
}

ccl::Settings settings_of(const dist::State& state, const PlainWiring& wiring) {
  ccl::Settings settings = wiring.rules.empty() ? state.config().wiring(wiring.topology, wiring.mapper)
                                                : ccl::load_config("default", wiring.rules, state.registry())
                                                      .wiring(wiring.topology, wiring.mapper);
  settings.name += fmt::format(" {} {}", wiring.world_size, join(wiring.rules));
  if (wiring.world_size > 0) settings.world_size = wiring.world_size;
  return settings;
}

const dist::Wired& ready(Torch& torch, const PlainWiring& wiring) {
  dist::State& state = dist::State::of(torch.engine());
  return state.wirings().ready(settings_of(state, wiring), request_of(wiring));
}

/// Installs queues, waits for them, and lets plain launches of this context have them. Returns its members in rank order,
/// and what each PE's directions lead to. With `links`, these are between `ranks`: [(rank, direction, rank)].
py::tuple install_wiring(const PyTorch& self, const std::string& topology, const std::string& mapper,
                         const std::string& group, int world_size, std::vector<std::string> rules,
                         const std::vector<PeCoord>& ranks, py::handle links) {
  Host& host = *self.host;
  Torch& torch = host.torch();
  if (host.plain_wiring)
    throw InputError({"ccl.installed", "install", "this engine has queues already",
                      "install once on an engine; make another engine for other queues"});
  PlainWiring wiring{topology, mapper, group, world_size, std::move(rules), ranks, std::nullopt};
  if (!links.is_none()) wiring.links = links_from(links, ranks);
  const dist::Wired& wired = *host.work([&] {
    const dist::Wired& made = ready(torch, wiring);
    for (const auto& request : std::vector(made.installs)) torch.engine().wait(*request);
    return &made;
  });
  host.plain_wiring = wiring;
  py::list lanes, ends;
  for (const auto& lane : wired.plan.members.lanes) lanes.append(py::cast(lane));
  for (const auto& pe : wired.plan.wiring.pes)
    for (const auto& end : pe.ends) ends.append(py::make_tuple(pe.pe, end.direction, end.peer));
  return py::make_tuple(lanes, ends);
}

/// (PE, direction, my_head, my_tail, peer_head_cache, peer_tail_cache, rx_base) of every queue that is installed.
py::list queue_pointers(const PyTorch& self) {
  py::list all;
  for (const auto& q : dist::queue_counters(self.host->torch_to_look_at()))
    all.append(py::make_tuple(to_string(q.pe), q.direction, q.my_head, q.my_tail, q.peer_head_cache,
                              q.peer_tail_cache, q.rx_base.raw()));
  return all;
}

// ── benches ──

/// The host function of a bench over this context; returns its line and whether what it compared was right.
py::tuple run_over(const PyTorch& self, const std::string& name, const std::vector<std::string>& words,
                   bool verify) {
  const Bench& bench = registry().benches.at(name);
  const Options options = bench.read_options(words);
  BenchReport report(verify);
  Torch& torch = self.host->torch();
  self.host->work([&] { bench::run_over(bench, torch, options, report); });
  return py::make_tuple(report.text(), py::cast(report.outcome()), report.complaints());
}

}  // namespace

Handle launch_wired(Torch& torch, const PlainWiring& wiring, const LaunchOptions& options,
                    const std::vector<Tensor>& tensors, const std::function<void(tl::Context&)>& body) {
  std::vector<const runtime::TensorState*> arguments;
  for (const Tensor& tensor : tensors) arguments.push_back(tensor.state().get());
  auto spec = runtime::plan_launch(torch.engine(), options, arguments);
  const dist::Wired& wired = ready(torch, wiring);
  spec.wiring = wired.wiring;
  spec.after = wired.installs;
  return Handle(torch.engine().launch(spec, arguments, body));
}

void bind_prototype(py::module_& m) {
  m.def("yaml_file",
        [](const std::string& path) { return object_of(parse_yaml(read_text_file(path), path)); });
  m.def("yaml_text",
        [](const std::string& text, const std::string& name) { return object_of(parse_yaml(text, name)); });
  m.def("shipped_yaml", [](const std::string& name) -> py::object {
    for (const auto& machine : topology::shipped_machines())
      if (machine.name == name) return py::str(machine.yaml);
    return py::none();
  });
  m.def("default_ccl", [] { return object_of(ccl::read_config("default").root); });
  auto torch = py::reinterpret_borrow<py::class_<PyTorch>>(m.attr("Torch"));
  torch.def("_install_wiring", &install_wiring);
  torch.def("_queue_pointers", &queue_pointers);
  torch.def("_drop_wiring", [](const PyTorch& s) { s.host->plain_wiring.reset(); });
  torch.def("_run_bench_over", &run_over);
  torch.def("_select_devices", [](const PyTorch& s, const std::string& device) {
    Torch& context = s.host->torch();
    context.engine().select_devices(DeviceSelector::parse(device).sips(context.machine()));
  });
  torch.def("_inside_spawn",
            [](const PyTorch& s) { return dist::State::of(s.host->torch().engine()).inside_spawn(); });
  torch.def("_ccl_source",
            [](const PyTorch& s) { return dist::State::of(s.host->torch().engine()).config().source(); });
}

}  // namespace kernbench::python
