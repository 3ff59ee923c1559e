// From a call of `launch` to programs on PEs.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "kernbench/error.hpp"
#include "runtime/engine.hpp"
#include "runtime/launch.hpp"

namespace kernbench::runtime {
namespace {

[[noreturn]] void reject(const std::string& name, std::string what, std::string hint) {
  throw InputError({"runtime.launch", fmt::format("launch '{}'", name), std::move(what), std::move(hint)});
}

/// The PEs that hold a shard, which must be a rectangle.
Grid union_of(const std::string& name, const std::vector<const TensorState*>& tensors, int cubes, int pes) {
  if (tensors.empty())
    reject(name, "no argument is a tensor, so nothing says which PEs run", "give a grid = {PEs, cubes}");
  std::vector<bool> holds(static_cast<std::size_t>(cubes * pes));
  Grid grid{0, 0};
  for (const TensorState* tensor : tensors)
    for (const Holder& h : tensor->layout().holders()) {
      holds[static_cast<std::size_t>(h.cube * pes + h.pe)] = true;
      grid = {std::max(grid.pes, h.pe + 1), std::max(grid.cubes, h.cube + 1)};
    }
  for (int cube = 0; cube < grid.cubes; ++cube)
    for (int pe = 0; pe < grid.pes; ++pe)
      if (!holds[static_cast<std::size_t>(cube * pes + pe)])
        reject(
            name,
            fmt::format("the PEs that hold shards reach to cube {} and PE {}, but cube {} PE {} holds none",
                        grid.cubes - 1, grid.pes - 1, cube, pe),
            "they are to be PEs 0 … P−1 of cubes 0 … C−1; else give a grid = {PEs, cubes}");
  return grid;
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
  if (engine.devices_are_pes())
    return {.name = name, .targets = {engine.pe_of(device)}, .num_programs = {1, 1, engine.machine().sips()}};
  const Grid grid = options.grid ? *options.grid : union_of(name, tensors, cubes, pes);
  if (grid.pes < 1 || grid.pes > pes || grid.cubes < 1 || grid.cubes > cubes)
    reject(name, fmt::format("a grid of {} PEs × {} cubes", grid.pes, grid.cubes),
           fmt::format("the machine has {} PEs × {} cubes in a SIP", pes, cubes));
  LaunchSpec spec{name, {}, {grid.pes, grid.cubes, engine.machine().sips()}, {}};
  for (int cube = 0; cube < grid.cubes; ++cube)
    for (int pe = 0; pe < grid.pes; ++pe) spec.targets.push_back({sip, cube, pe});
  return spec;
}

/// Also for a PE that holds nothing: it may reach the others' shards.
tl::Environment Engine::environment(const LaunchSpec& spec, const std::vector<const TensorState*>& tensors,
                                    PeCoord pe) {
  tl::Environment environment{
      .kernel = spec.name,
      .pe = pe,
      .num_programs = spec.num_programs,
      .scratch = space_.pools().layout().tcm_scratch,
      .queues = std::vector<tl::Queue>(),
      .shards = {},
      .scalars = [this, pe](std::uint64_t at, DType dtype) { return read_scalar(pe, at, dtype); },
      .memory = [this, pe](std::uint64_t at, std::span<std::byte> out) { read_memory(pe, at, out); },
      .like = recorded_last_.get()};
  if (spec.wiring)
    for (const auto& end : spec.wiring->ends(pe))
      environment.queues->push_back(
          {end.direction, spec.wiring->rules().slot_size, spec.wiring->in_slot(), end.sends, end.receives});
  for (const TensorState* tensor : tensors) {
    const Storage& storage = *tensor->storage();
    const int holder = storage.holder(pe);
    if (holder < 0) continue;
    const Layout& layout = storage.layout;
    const tl::Ptr base(storage.base.raw());
    for (const LayoutTile& tile :
         layout.tiles(layout.blocks()[layout.holders()[static_cast<std::size_t>(holder)].block]))
      environment.shards.push_back({.tensor = base,
                                    .ptr = base + tile.offset,
                                    .shape = layout.extents(tile.rect),
                                    .origin = layout.origin(tile.rect),
                                    .dtype = storage.dtype,
                                    .name = storage.name});
  }
  return environment;
}

std::shared_ptr<Request> Engine::launch(const LaunchSpec& spec,
                                        const std::vector<const TensorState*>& tensors,
                                        const std::function<void(tl::Context&)>& body) {
  std::vector<const TensorState*> distinct;
  for (const TensorState* tensor : tensors)
    if (std::ranges::find(distinct, tensor) == distinct.end()) distinct.push_back(tensor);
  Programs programs;
  programs.reserve(spec.targets.size());
  for (const PeCoord& pe : spec.targets) {
    tl::Context tl(environment(spec, distinct, pe));
    body(tl);
    programs.push_back(recorded_last_ = std::make_shared<const isa::Program>(tl.take_program()));
  }
  const int sip = spec.targets.front().sip;
  const auto request =
      std::make_shared<LaunchRequest>(processors_, static_cast<std::uint32_t>(requests_.size()), sip,
                                      spec.name, std::move(programs), spec.wiring, spec.joint);
  for (const auto& other : spec.after) request->comes_after(other);
  current_stream().submit(request, *host_);
  launches_[static_cast<std::size_t>(sip)].push_back(request);
  if (watcher_) watcher_(*request);
  return request;
}

bool Engine::find_memory(PeCoord pe, address::VirtAddr begin, Bytes size,
                         std::vector<address::PhysPiece>& out) const {
  out.clear();
  const TensorState* tensor = tensor_at(begin.raw());
  if (tensor == nullptr) return false;
  const Storage& storage = *tensor->storage();
  const Bytes offset = begin - storage.base;
  if (storage.sip != pe.sip || offset + size > storage.size()) return false;
  storage.segment(pe)->append_pieces(offset, size, out);
  return true;
}

}  // namespace kernbench::runtime
