#include "nn/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "dist/state.hpp"

namespace kernbench::nn {
namespace {

/// Along the rows of the mesh, every other one backwards.
std::vector<int> snake(const topology::Machine& machine, const Placed::Rectangle& where) {
  std::vector<int> cubes;
  for (int i = 0; i < where.cubes; ++i) cubes.push_back(where.first.cube + i);
  const int width = static_cast<int>(machine.cube_mesh().x);
  std::ranges::sort(cubes, {}, [&](int cube) {
    const int row = cube / width, col = cube % width;
    return std::pair(row, row % 2 == 0 ? col : width - 1 - col);
  });
  return cubes;
}

std::string mate(int pe) { return fmt::format("pe{}", pe); }

}  // namespace

Exchange::Exchange(const Call& call, const Placed::Rectangle& where, std::int64_t tile_bytes)
    : where_(where), ring_(snake(call.machine(), where)) {
  runtime::Engine& engine = call.engine();
  const int sip = engine.sip_of(engine.host().device);
  dist::State& state = dist::State::of(engine);
  ccl::Settings settings = state.config().wiring("sip_exchange", "all_pes");
  // Sizes are rounded, so that few different queues come to be.
  const auto slot = static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(tile_bytes, 1024))));
  settings.rules.slot_size = Bytes(slot);
  settings.rules.slots = 2 * kAhead;
  settings.name = fmt::format("sip_exchange of {} bytes", slot);
  std::vector<std::vector<PeCoord>> lanes(static_cast<std::size_t>(where.pes));
  for (int pe = 0; pe < where.pes; ++pe)
    for (const int cube : ring_)
      lanes[static_cast<std::size_t>(pe)].push_back({sip, cube, where.first.pe + pe});
  const dist::Wired& wired = state.wirings().ready(settings, {.lanes = lanes});
  spec_ = {.name = call.name(),
           .targets = wired.plan.members.pes(),
           .num_programs = {where.pes, where.cubes, call.machine().sips()},
           .wiring = wired.wiring,
           .after = wired.installs};
}

Exchange::Place Exchange::place(const tl::Context& tl) const {
  const auto cube = std::ranges::find(ring_, tl.program_id(1)) - ring_.begin();
  return {static_cast<int>(cube), tl.program_id(0) - where_.first.pe};
}

PePlace Exchange::at(Place place) const {
  return {ring_[static_cast<std::size_t>(place.cube)], where_.first.pe + place.pe};
}

std::optional<Exchange::Place> Exchange::find(PePlace pe) const {
  const auto cube = std::ranges::find(ring_, pe.cube);
  const int of_cube = pe.pe - where_.first.pe;
  if (cube == ring_.end() || of_cube < 0 || of_cube >= where_.pes) return {};
  return Place{static_cast<int>(cube - ring_.begin()), of_cube};
}

void Exchange::to_mate(tl::Context& tl, int pe, const tl::Tile& tile) const { tl.send(mate(pe), tile); }
tl::Tile Exchange::from_mate(tl::Context& tl, int pe, const Shape& shape, DType dtype) const {
  return tl.recv(mate(pe), shape, dtype);
}
void Exchange::to_next(tl::Context& tl, const tl::Tile& tile) const { tl.send("next", tile); }
tl::Tile Exchange::from_previous(tl::Context& tl, const Shape& shape, DType dtype) const {
  return tl.recv("previous", shape, dtype);
}

void Exchange::all_gather(tl::Context& tl, const tl::Tile& mine, DType dtype,
                          const std::function<Shape(Place)>& shape_at,
                          const std::function<void(Place, const tl::Tile&)>& take) const {
  const Place me = place(tl);
  tl::Tile tile = mine;
  for (int step = 0; step < cubes(); ++step) {
    const int cube = (me.cube - step + cubes()) % cubes();  // whose tiles are had in this step
    const auto shape_of = [&](int pe) { return shape_at({cube, pe}); };
    const bool has = shape_of(me.pe).rank() > 0;
    if (step > 0 && has) tile = from_previous(tl, shape_of(me.pe), dtype);
    if (has && step + 1 < cubes()) to_next(tl, tile);
    for (int pe = 0; has && pe < pes(); ++pe)
      if (pe != me.pe) to_mate(tl, pe, tile);
    if (has) take({cube, me.pe}, tile);
    for (int pe = 0; pe < pes(); ++pe)
      if (pe != me.pe && shape_of(pe).rank() > 0) take({cube, pe}, from_mate(tl, pe, shape_of(pe), dtype));
  }
}

}  // namespace kernbench::nn
