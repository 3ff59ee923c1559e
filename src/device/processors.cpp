#include "device/processors.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "device/pe.hpp"
#include "kernbench/error.hpp"

namespace kernbench::device {
namespace {

/// The first command of a program that names a direction; with kNone, the first that uses a queue at all.
std::string first_use(const isa::Program& program, std::uint32_t direction = isa::kNone) {
  for (const isa::Command& c : program.commands()) {
    const bool queue = c.kind == isa::CommandKind::ipcq_send || c.kind == isa::CommandKind::ipcq_recv;
    if (queue && (direction == isa::kNone || c.detail == direction))
      return fmt::format("{} at {}", to_string(program.pe()), isa::to_string(program.line(c)));
  }
  return {};
}

[[noreturn]] void refuse_unwired(const isa::Program& program, const std::string& where,
                                 const WiringPtr& wiring) {
  const std::string what =
      wiring ? fmt::format("kernel '{}' uses a queue, but wiring '{}' does not reach this PE",
                           program.kernel(), wiring->name())
             : fmt::format("kernel '{}' uses a queue, but no wiring is installed", program.kernel());
  throw SimulationError(
      {"device.no-queue", where, what, "launch it through a collective, or install a wiring first"});
}

[[noreturn]] void refuse_direction(const isa::Program& program, std::uint32_t direction,
                                   std::span<const InstalledWiring::End> ends) {
  std::vector<std::string> known;
  for (const auto& end : ends) known.push_back(end.direction);
  throw SimulationError({"device.direction", first_use(program, direction),
                         fmt::format("kernel '{}' names the unknown direction '{}'", program.kernel(),
                                     program.directions()[direction]),
                         "this PE has " + join(known)});
}

/// A direction may carry one way only.
void check_ways(const isa::Program& program, std::span<const InstalledWiring::End> ends,
                const std::vector<int>& used) {
  using End = InstalledWiring::End;
  if (std::ranges::all_of(ends, [](const End& end) { return end.sends && end.receives; })) return;
  for (const isa::Command& c : program.commands()) {
    const bool send = c.kind == isa::CommandKind::ipcq_send;
    if ((!send && c.kind != isa::CommandKind::ipcq_recv) || c.detail == isa::kNone) continue;
    const End& end = ends[static_cast<std::size_t>(used[c.detail])];
    if (send ? end.sends : end.receives) continue;
    throw SimulationError(
        {"device.direction",
         fmt::format("{} at {}", to_string(program.pe()), isa::to_string(program.line(c))),
         fmt::format("kernel '{}' {} {}, which only {}", program.kernel(), send ? "sends" : "receives from",
                     end.direction, send ? "receives" : "sends"),
         "use a topology that goes both ways"});
  }
}

}  // namespace

Processors::Processors(Device& device)
    : device_(device),
      spec_(PeSpec::of(device.machine())),
      writer_(device.simulation().partitions()),
      book_(device),
      pes_(static_cast<std::size_t>(device.machine().total_pes())),
      last_use_(pes_.size()) {}

Processors::~Processors() = default;

Pe& Processors::pe(PeCoord at) {
  auto& pe = pes_[device_.index(at)];
  if (!pe) pe = std::make_unique<Pe>(*this, at);
  return *pe;
}

std::uint32_t Processors::add_origin(Origin origin) {
  if (origin.program != nullptr) {
    origin.has_commands = !origin.program->commands().empty();
    if (notes_fingerprints_ && origin.fingerprint == 0) origin.fingerprint = origin.program->fingerprint();
  }
  return origins_.add(origin);
}

const QueueUse* Processors::queue_use(const WiringPtr& wiring, const isa::Program& program) {
  const auto ends = wiring ? wiring->ends(program.pe()) : std::span<const InstalledWiring::End>();
  if (ends.empty()) {
    const std::string where = first_use(program);
    if (!where.empty()) refuse_unwired(program, where, wiring);
    return nullptr;
  }
  std::vector<int> used;
  for (std::uint32_t d = 0; d < program.directions().size(); ++d) {
    const auto found = std::ranges::find(ends, program.directions()[d], &InstalledWiring::End::direction);
    if (found == ends.end()) refuse_direction(program, d, ends);
    used.push_back(static_cast<int>(found - ends.begin()));
  }
  check_ways(program, ends, used);
  const QueueUse*& last = last_use_[device_.index(program.pe())];
  if (last && last->wiring == wiring && last->ends == used) return last;
  queue_uses_.push_back({wiring, std::move(used), ends});
  return last = &queue_uses_.back();
}

void Processors::abort() {
  ++epoch_;
  for (const auto& pe : pes_)
    if (pe) pe->abort();
}

void Processors::restart() {
  for (auto& pe : pes_) pe.reset();
  book_.drop_all();
}

}  // namespace kernbench::device
