// From a call of `launch` to programs on PEs.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/memory.hpp"
#include "base/text.hpp"
#include "kernbench/error.hpp"
#include "runtime/engine.hpp"
#include "runtime/launch.hpp"
#include "runtime/log_estimate.hpp"

namespace kernbench::runtime {
namespace {

[[noreturn]] void reject(const std::string& name, std::string what, std::string hint) {
  throw InputError({"runtime.launch", fmt::format("launch '{}'", name), std::move(what), std::move(hint)});
}

/// The PEs that hold a shard, which must be a rectangle. Pages of an interleaved tensor are everybody's.
Grid union_of(const std::string& name, const std::vector<const TensorState*>& tensors, int cubes, int pes) {
  if (tensors.empty())
    reject(name, "no argument is a tensor, so nothing says which PEs run",
           "give a grid: {name, Grid{PEs, cubes}}, in Python grid=(PEs, cubes)");
  std::set<PePlace> holds;
  for (const TensorState* tensor : tensors) {
    if (tensor->layout().is_interleaved()) return {pes, cubes};
    for (const Holder& h : tensor->layout().holders()) holds.insert({h.cube, h.pe});
  }
  PePlace first = *holds.begin(), last = first;
  for (const PePlace at : holds) {
    first = {std::min(first.cube, at.cube), std::min(first.pe, at.pe)};
    last = {std::max(last.cube, at.cube), std::max(last.pe, at.pe)};
  }
  for (int cube = first.cube; cube <= last.cube; ++cube)
    for (int pe = first.pe; pe <= last.pe; ++pe)
      if (!holds.contains({cube, pe}))
        reject(name,
               fmt::format(
                   "the PEs that hold shards reach from cube {} PE {} to cube {} PE {}, but cube {} PE {} "
                   "holds none",
                   first.cube, first.pe, last.cube, last.pe, cube, pe),
               "they are to be the same PEs of neighbouring cubes; else give a grid (Grid{PEs, cubes}, in "
               "Python grid=(PEs, cubes)) or a list of PEs");
  return {last.pe - first.pe + 1, last.cube - first.cube + 1, first};
}

void check_grid(const std::string& name, const Grid& grid, int cubes, int pes) {
  const auto inside = [](int first, int count, int there) {
    return first >= 0 && count >= 1 && first <= there && count <= there - first;
  };
  if (inside(grid.origin.pe, grid.pes, pes) && inside(grid.origin.cube, grid.cubes, cubes)) return;
  const std::string from =
      grid.origin == PePlace{} ? "" : fmt::format(" from cube {} PE {} on", grid.origin.cube, grid.origin.pe);
  reject(name, fmt::format("a grid of {} PEs × {} cubes{}", grid.pes, grid.cubes, from),
         fmt::format("the machine has {} PEs × {} cubes in a SIP", pes, cubes));
}

/// The PEs of a list, in ascending order.
LaunchSpec spec_of_list(const std::string& name, std::vector<PePlace> list, int sip,
                        const topology::Machine& machine) {
  std::ranges::sort(list);
  for (const PePlace at : list) check_grid(name, {1, 1, at}, machine.cubes(), machine.pes());
  if (const auto twice = std::ranges::adjacent_find(list); twice != list.end())
    reject(name, fmt::format("cube {} PE {} is in the list of PEs twice", twice->cube, twice->pe),
           "a PE runs a launch once");
  LaunchSpec spec{.name = name, .targets = {}, .num_programs = {0, 0, machine.sips()}, .is_list = true};
  for (const PePlace at : list) {
    if (spec.targets.empty() || spec.targets.back().cube != at.cube) ++spec.num_programs[1];
    spec.targets.push_back({sip, at.cube, at.pe});
  }
  return spec;
}

}  // namespace

LaunchSpec plan_launch(Engine& engine, const LaunchOptions& options,
                       const std::vector<const TensorState*>& tensors) {
  const int device = engine.host().device, sip = engine.sip_of(device), cubes = engine.machine().cubes(),
            pes = engine.machine().pes();
  const std::string name = options.name.empty() ? "kernel" : options.name;
  std::vector<std::string> elsewhere;
  for (const TensorState* tensor : tensors) {
    if (!tensor->belongs_to(engine))
      reject(name, fmt::format("tensor '{}' is of another context", tensor->storage()->name), "");
    if (tensor->stream().number() != device)
      elsewhere.push_back(fmt::format("'{}' on sip{}", tensor->storage()->name, tensor->storage()->sip));
  }
  if (!elsewhere.empty())
    reject(
        name,
        fmt::format("the current device is {}, but there are tensors elsewhere: {}", device, join(elsewhere)),
        "make them on this device, or set the device they are on");
  const auto is_spread = [](const TensorState* tensor) { return tensor->layout().holders().size() > 1; };
  if (engine.devices_are_pes() && std::ranges::none_of(tensors, is_spread))
    return {.name = name, .targets = {engine.pe_of(device)}, .num_programs = {1, 1, engine.machine().sips()}};
  if (!options.pes.empty()) {
    if (options.grid) reject(name, "a grid and a list of PEs", "give one of them");
    return spec_of_list(name, options.pes, sip, engine.machine());
  }
  const Grid grid = options.grid ? *options.grid : union_of(name, tensors, cubes, pes);
  check_grid(name, grid, cubes, pes);
  LaunchSpec spec{
      .name = name, .targets = {}, .num_programs = {grid.pes, grid.cubes, engine.machine().sips()}};
  for (int cube = 0; cube < grid.cubes; ++cube)
    for (int pe = 0; pe < grid.pes; ++pe)
      spec.targets.push_back({sip, grid.origin.cube + cube, grid.origin.pe + pe});
  return spec;
}

namespace {

std::array<int, 3> programs_seen(const LaunchSpec& spec, PeCoord pe) {
  std::array<int, 3> counts = spec.num_programs;
  if (spec.is_list) counts[0] = static_cast<int>(std::ranges::count(spec.targets, pe.cube, &PeCoord::cube));
  return counts;
}

void add_shards(std::vector<tl::Shard>& shards, const Storage& storage, PeCoord pe) {
  const Layout& layout = storage.layout;
  const tl::Ptr base(storage.base.raw(), storage.dtype);
  if (layout.is_interleaved()) {
    shards.push_back({.tensor = base, .name = storage.name, .interleaved = true});
    return;
  }
  for (const Holder& holder : layout.holders_at({pe.cube, pe.pe}))
    for (const LayoutTile& tile : layout.tiles(layout.blocks()[holder.block]))
      shards.push_back({.tensor = base,
                        .ptr = base + tile.offset,
                        .shape = layout.extents(tile.rect),
                        .origin = layout.origin(tile.rect),
                        .dtype = storage.dtype,
                        .name = storage.name});
}

}  // namespace

/// Also for a PE that holds nothing: it may reach the others' shards.
tl::Environment Engine::environment(const LaunchSpec& spec, const std::vector<const TensorState*>& tensors,
                                    PeCoord pe) {
  tl::Environment environment{
      .kernel = spec.name,
      .pe = pe,
      .num_programs = programs_seen(spec, pe),
      .scratch = space_.pools().layout().tcm_scratch,
      .queues = std::vector<tl::Queue>(),
      .shards = {},
      .tensors = {},
      .scalars = [this, pe](std::uint64_t at, DType dtype) { return read_scalar(pe, at, dtype); },
      .memory = [this, pe](std::uint64_t at, std::span<std::byte> out) { read_memory(pe, at, out); },
      .like = recorded_last_.get()};
  if (spec.wiring)
    for (const auto& end : spec.wiring->ends(pe))
      environment.queues->push_back(
          {end.direction, spec.wiring->rules().slot_size, spec.wiring->in_slot(), end.sends, end.receives});
  for (const TensorState* tensor : tensors) {
    const Storage& storage = *tensor->storage();
    environment.tensors.emplace_back(storage.base.raw(), storage.dtype);
    add_shards(environment.shards, storage, pe);
  }
  return environment;
}

/// Recording takes no simulated time, and on many PEs it takes long.
void Engine::check_interrupt(const std::string& kernel) {
  if (options_.interrupt == nullptr || !*options_.interrupt) return;
  clock_.note_interrupt();
  throw Interrupted({"runtime.interrupted", "",
                     fmt::format("the run was stopped while kernel '{}' was recorded", kernel), ""});
}

std::shared_ptr<Request> Engine::launch(const LaunchSpec& spec,
                                        const std::vector<const TensorState*>& tensors,
                                        const std::function<void(tl::Context&)>& body) {
  release_held();
  const Building building("the programs of a launch");
  std::vector<const TensorState*> distinct;
  for (const TensorState* tensor : tensors)
    if (std::ranges::find(distinct, tensor) == distinct.end()) distinct.push_back(tensor);
  Programs programs;
  programs.reserve(spec.targets.size());
  for (const PeCoord& pe : spec.targets) {
    check_interrupt(spec.name);
    tl::Context tl(environment(spec, distinct, pe));
    body(tl);
    isa::Program program = tl.take_program();
    bodies_.share(program);
    programs.push_back(recorded_last_ = std::make_shared<const isa::Program>(std::move(program)));
  }
  if (options_.log == LogStorage::memory) check_room_for_records(spec.name, programs, processors_.spec());
  // Parts of a joint launch never come again.
  ProgramSetPtr set = spec.joint ? std::make_shared<const ProgramSet>(std::move(programs))
                                 : program_sets_.share(std::move(programs));
  const int sip = spec.targets.front().sip;
  const auto request =
      std::make_shared<LaunchRequest>(processors_, static_cast<std::uint32_t>(requests_.size()), sip,
                                      spec.name, std::move(set), spec.wiring, spec.joint);
  request->note = spec.note;
  request->compulsory = spec.compulsory;
  for (const auto& other : spec.after) request->comes_after(other);
  current_stream().submit(request, *host_);
  launches_[static_cast<std::size_t>(sip)].push_back(request);
  if (watcher_) watcher_(*request);
  if (meter_)
    meter_->submitted(*request, [this](PeCoord pe, address::VirtAddr begin, Bytes size, auto& out) {
      return find_memory(pe, begin, size, out);
    });
  return request;
}

bool Engine::find_memory(PeCoord pe, address::VirtAddr begin, Bytes size,
                         std::vector<address::PhysPiece>& out) const {
  out.clear();
  const TensorState* tensor = tensor_at(begin.raw());
  return tensor != nullptr && tensor->storage()->find(pe, begin, size, out);
}

}  // namespace kernbench::runtime
