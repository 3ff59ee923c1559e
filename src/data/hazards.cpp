#include "data/hazards.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "data/access_map.hpp"
#include "data/memory_order.hpp"
#include "data/pieces.hpp"
#include "data/slot_watch.hpp"

namespace kernbench::data {

std::string_view to_string(HazardKind kind) {
  constexpr std::string_view kNames[] = {"write-write", "read-write", "slot overwritten", "unread message"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string to_string(const Hazard& h) {
  const auto times = h.occurrences > 1 ? fmt::format(" ({} times)", h.occurrences) : std::string();
  switch (h.kind) {
    case HazardKind::slot_overwritten:
      return fmt::format(
          "hazard: slot overwritten{}: the message of {} overwrites a tile before {} has retired", times,
          h.second->text, h.first.text);
    case HazardKind::unread_message:
      return fmt::format("hazard: unread message{}: nobody received what was sent by {}", times,
                         h.first.text);
    case HazardKind::write_write:
    case HazardKind::read_write:
      break;
  }
  return fmt::format("hazard: {}{}: {} and {} touch {} at {} in no order", to_string(h.kind), times,
                     h.first.text, h.second->text, to_string(h.size), h.place);
}

class HazardDetector::Detector {
 public:
  Detector(RunFacts& facts, const HazardOptions& options)
      : facts_(facts), options_(options), finder_(facts), order_(facts), map_(order_), slots_(facts) {}

  void append(const device::OpRecord& record);
  void depart(const device::Departure& departure);
  void drop_ring(std::uint32_t ring);
  const std::vector<Hazard>& finish();
  const std::vector<Hazard>& hazards() const { return hazards_; }

 private:
  const isa::Program& program(const Event& event) { return *facts_.origin(event.origin).program; }
  /// The same, sooner found: only for an event that the order has been told of.
  const isa::Program& program_of_ended(const Event& event) { return *order_.program_of(event); }
  void queue_operation(const device::OpRecord& record, const Event& event);
  void transfer(const device::OpRecord& record, const Event& event);
  TilePlan plan_of(const Event& event);
  void tile_written(const Event& event, Time end);
  void tile_computed(const Event& event, Time end);
  void composite_ended(const Event& event, Time end);
  void dma(const Event& event, bool write);
  void access(const Event& event, const Pieces& pieces, bool write);
  /// Whether they are of two kernel instances that one PE runs in one launch.
  bool are_instances(const Event& a, const Event& b) {
    return a.origin == b.origin &&
           program_of_ended(a).instance(a.command) != program_of_ended(a).instance(b.command);
  }
  void judge(const Event& event, bool write, const AccessMap::Overlap& overlap);
  HazardOp op(const Event& event, bool write);
  static std::optional<MathOp> atomic_op(const isa::Command& command);
  std::optional<MathOp> atomic_op(const Event& ended);
  void report(Hazard hazard);
  void report_overwritten();
  void report_unread(const std::vector<Event>& sends);

  RunFacts& facts_;
  HazardOptions options_;
  PieceFinder finder_;
  Pieces pieces_;  // of the latest dma command
  MemoryOrder order_;
  AccessMap map_;
  SlotWatch slots_;
  std::map<std::pair<std::uint32_t, isa::CommandIndex>, std::int64_t> tiles_done_;  // of composites
  std::vector<Hazard> hazards_;
  std::map<std::tuple<HazardKind, std::string, std::string>, std::size_t> known_;  // by source lines
};

void HazardDetector::Detector::append(const device::OpRecord& record) {
  using device::OpKind;
  const Event event{record.origin, record.command};
  if (record.kind == OpKind::dma_read && atomic_op(program(event).command(event.command)))
    return;  // its write counts
  switch (record.kind) {
    case OpKind::dma_read:
    case OpKind::dma_write:
    case OpKind::load_scalar:
    case OpKind::gemm:
    case OpKind::math:
    case OpKind::host_write:
    case OpKind::host_read:
      return transfer(record, event);
    case OpKind::ipcq_send:
    case OpKind::ipcq_recv:
      return queue_operation(record, event);
    case OpKind::tile_dma_out:
      return tile_written(event, record.end);
    case OpKind::host_launch:
    case OpKind::host_map:
      return order_.ended({record.origin, isa::kNone});
    case OpKind::tile_gemm:
    case OpKind::tile_math:
      return tile_computed(event, record.end);
    case OpKind::tile_dma_in:
    case OpKind::program:
      return;
  }
}

void HazardDetector::Detector::transfer(const device::OpRecord& record, const Event& event) {
  using device::OpKind;
  order_.ended(event);
  if (record.kind == OpKind::host_write || record.kind == OpKind::host_read)
    return access(event, pieces_of(facts_.host_transfer(record)), record.kind == OpKind::host_write);
  slots_.ended(event, record.end);
  report_overwritten();
  const auto& p = program_of_ended(event);
  const auto& command = p.command(event.command);
  if (record.kind == OpKind::load_scalar)
    return access(
        event, finder_.of_range(event.origin, p.address(command), Bytes(itemsize(p.scalar_dtype(command)))),
        false);
  if (record.kind == OpKind::dma_read || record.kind == OpKind::dma_write)
    dma(event, record.kind == OpKind::dma_write);
}

void HazardDetector::Detector::dma(const Event& event, bool write) {
  const isa::Program& p = program_of_ended(event);
  finder_.find_dma(event.origin, p, p.command(event.command), pieces_);
  access(event, pieces_, write);
}

void HazardDetector::Detector::queue_operation(const device::OpRecord& record, const Event& event) {
  const auto message = facts_.message(record);
  if (record.kind == device::OpKind::ipcq_send) {
    order_.sent(event, message);
    slots_.ended(event, record.retired());
    slots_.sent(event, message, record.start);
    return report_overwritten();
  }
  order_.received(event, message);
  slots_.received(event, message, record.end);
  const auto& p = program_of_ended(event);
  const auto& command = p.command(event.command);
  if (p.has_destination(command))
    access(event, finder_.of_range(event.origin, p.address(command), p.bytes(command.result)), true);
}

void HazardDetector::Detector::depart(const device::Departure& departure) {
  const Event event{departure.origin, departure.command};
  order_.ended(event);
  const auto& p = program(event);
  access(event, finder_.of_reference(event.origin, p, p.command(event.command).read[0]), false);
}

TilePlan HazardDetector::Detector::plan_of(const Event& event) {
  const auto& p = program(event);
  const auto& spec = p.composite(p.command(event.command));
  return {p.shape(spec.out)[0], p.shape(spec.out)[1], p.shape(spec.a)[1], options_.gemm_tile};
}

/// A composite counts as one access to all of its references, made when its last output is written.
void HazardDetector::Detector::tile_written(const Event& event, Time end) {
  auto& written = tiles_done_[{event.origin, event.command}];
  if (++written == plan_of(event).outputs()) composite_ended(event, end);
}

/// The same for one whose output is a tile: it ends with the last record of a unit.
void HazardDetector::Detector::tile_computed(const Event& event, Time end) {
  const auto& p = program(event);
  const auto& spec = p.composite(p.command(event.command));
  if (p.value(spec.out).kind == isa::ValueKind::reference) return;
  const auto plan = plan_of(event);
  auto records = plan.steps();
  for (const auto& step : p.epilogue(spec))
    records += step.point == isa::EpiloguePoint::per_k_step ? plan.steps() : plan.outputs();
  auto& done = tiles_done_[{event.origin, event.command}];
  if (++done == records) composite_ended(event, end);
}

void HazardDetector::Detector::composite_ended(const Event& event, Time end) {
  const auto& p = program(event);
  const auto& spec = p.composite(p.command(event.command));
  tiles_done_.erase({event.origin, event.command});
  order_.ended(event);
  slots_.ended(event, end);
  report_overwritten();
  for (const auto id : {spec.a, spec.b})
    if (p.value(id).kind == isa::ValueKind::reference)
      access(event, finder_.of_reference(event.origin, p, id), false);
  if (p.value(spec.out).kind == isa::ValueKind::reference)
    access(event, finder_.of_reference(event.origin, p, spec.out), true);
}

void HazardDetector::Detector::access(const Event& event, const Pieces& pieces, bool write) {
  for (const auto& p : pieces)
    map_.add(p.at.raw(), p.at.raw() + static_cast<std::uint64_t>(p.bytes), event, write,
             [&](const AccessMap::Overlap& overlap) { judge(event, write, overlap); });
}

void HazardDetector::Detector::judge(const Event& event, bool write, const AccessMap::Overlap& overlap) {
  const bool both_host = event.command == isa::kNone && overlap.earlier.command == isa::kNone;
  if (both_host) return;  // the host's own order
  const auto combines = atomic_op(event);
  const bool alike = combines && combines == atomic_op(overlap.earlier);  // either order will do
  if (order_.agent_of(event) == order_.agent_of(overlap.earlier)) {
    order_.overlapped(overlap.earlier, event);
    if (!are_instances(overlap.earlier, event)) return;
  } else if (order_.is_before(overlap.earlier, event)) {
    return;
  }
  if (alike) return;
  const auto begin = address::PhysAddr::from_raw(overlap.begin);
  report({write && overlap.earlier_writes ? HazardKind::write_write : HazardKind::read_write,
          op(overlap.earlier, overlap.earlier_writes), op(event, write), begin,
          Bytes(static_cast<std::int64_t>(overlap.end - overlap.begin)),
          options_.names != nullptr ? options_.names->describe(begin) : to_string(begin), 1});
}

/// What an atomic does; nothing for other commands.
std::optional<MathOp> HazardDetector::Detector::atomic_op(const Event& ended) {
  return ended.command == isa::kNone ? std::nullopt
                                     : atomic_op(program_of_ended(ended).command(ended.command));
}

std::optional<MathOp> HazardDetector::Detector::atomic_op(const isa::Command& command) {
  return command.kind == isa::CommandKind::atomic ? std::optional(command.op) : std::nullopt;
}

HazardOp HazardDetector::Detector::op(const Event& event, bool write) {
  const auto& origin = facts_.origin(event.origin);
  if (event.command == isa::kNone)
    return {event.origin, event.command, origin.pe,
            fmt::format("host {}, request {}", write ? "write" : "read", origin.launch)};
  const auto& command = origin.program->command(event.command);
  return {event.origin, event.command, origin.pe,
          fmt::format("{} by kernel '{}' on {} at {}", to_string(command.kind), origin.program->kernel(),
                      to_string(origin.pe), to_string(origin.program->line(command)))};
}

void HazardDetector::Detector::report(Hazard hazard) {
  const auto line = [&](const HazardOp& o) {
    if (o.command == isa::kNone) return o.text;
    const auto& p = *facts_.origin(o.origin).program;
    return fmt::format("{} {}", p.kernel(), to_string(p.line(p.command(o.command))));
  };
  const std::tuple key(hazard.kind, line(hazard.first), hazard.second ? line(*hazard.second) : std::string());
  const auto [at, is_new] = known_.try_emplace(key, hazards_.size());
  if (is_new)
    hazards_.push_back(std::move(hazard));
  else
    ++hazards_[at->second].occurrences;
}

void HazardDetector::Detector::report_overwritten() {
  if (!slots_.has_found()) return;
  for (const auto& found : slots_.take_found())
    report({HazardKind::slot_overwritten, op(found.user, false), op(found.send, true), {}, Bytes(0), "", 1});
}

void HazardDetector::Detector::report_unread(const std::vector<Event>& sends) {
  for (const auto& send : sends)
    report({HazardKind::unread_message, op(send, true), {}, {}, Bytes(0), "", 1});
}

void HazardDetector::Detector::drop_ring(std::uint32_t ring) {
  report_unread(slots_.unread(ring));
  slots_.drop(ring);
}

const std::vector<Hazard>& HazardDetector::Detector::finish() {
  slots_.finish();
  report_overwritten();
  report_unread(slots_.unread());
  return hazards_;
}

HazardDetector::HazardDetector(RunFacts& facts, HazardOptions options)
    : detector_(std::make_unique<Detector>(facts, options)) {}
HazardDetector::~HazardDetector() = default;

void HazardDetector::append(const device::OpRecord& record) { detector_->append(record); }
void HazardDetector::depart(const device::Departure& departure) { detector_->depart(departure); }
void HazardDetector::drop_ring(std::uint32_t ring) { detector_->drop_ring(ring); }
const std::vector<Hazard>& HazardDetector::finish() { return detector_->finish(); }
const std::vector<Hazard>& HazardDetector::hazards() const { return detector_->hazards(); }

}  // namespace kernbench::data
