#include "runtime/energy_meter.hpp"

#include <algorithm>

#include "trace/recording.hpp"

namespace kernbench::runtime {

using device::OpKind;
using device::OpRecord;

namespace {

bool multiplies(OpKind kind) { return kind == OpKind::gemm || kind == OpKind::tile_gemm; }

/// Units fetch, compute and store, one after the other.
bool is_unit_work(OpKind kind) {
  return multiplies(kind) || kind == OpKind::math || kind == OpKind::tile_math;
}

void add_parts(EnergyByPart& to, const EnergyByPart& more) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += more[i];
}

constexpr std::size_t at(EnergyPart part) { return static_cast<std::size_t>(part); }

}  // namespace

std::unique_ptr<EnergyMeter> EnergyMeter::of(device::Device& device, const device::Origins& origins,
                                             device::OpSink& next) {
  auto prices = topology::EnergyPrices::of(device.machine());
  if (!prices) return nullptr;
  return std::unique_ptr<EnergyMeter>(new EnergyMeter(device, origins, next, std::move(*prices)));
}

EnergyMeter::EnergyMeter(device::Device& device, const device::Origins& origins, device::OpSink& next,
                         topology::EnergyPrices prices)
    : device_(device),
      origins_(origins),
      next_(next),
      book_(device.machine(), device.graph(), std::move(prices)),
      parts_(static_cast<std::size_t>(device.simulation().partitions())) {
  launch_.parts[at(EnergyPart::launch)] = Energy::from_fj(book_.prices().launch.fj);
}

void EnergyMeter::submitted(const LaunchRequest& launch, const FindMemory& find_memory) {
  RequestCharges& charges = requests_[launch.number()];
  for (const auto& program : launch.programs())
    charges.programs.emplace(program->pe(), book_.of(*program, find_memory, launch.wiring()));
}

void EnergyMeter::submitted(const TransferRequest& transfer) {
  Charge& charge = requests_[transfer.number()].transfer;
  for (const auto& place : transfer.places())
    book_.add_host(charge, transfer.address(place), Bytes(transfer.chunks()[place.chunk].bytes()),
                   transfer.phase() == Phase::write);
}

void EnergyMeter::append(int partition, const OpRecord& record) {
  next_.append(partition, record);
  Part& part = parts_[static_cast<std::size_t>(partition)];
  part.last_end = std::max(part.last_end, record.end);
  count(part, record);
}

void EnergyMeter::count(Part& part, const OpRecord& record) const {
  switch (record.kind) {
    case OpKind::host_map:
    case OpKind::host_launch:
      return;
    case OpKind::program:
      return add(part, source_of(part, record), record, launch_);
    case OpKind::host_write:
    case OpKind::host_read:
      if (const auto found = requests_.find(origins_[record.origin].launch); found != requests_.end())
        add(part, source_of(part, record), record, found->second.transfer);
      return;
    case OpKind::dma_read:
    case OpKind::dma_write:
    case OpKind::load_scalar:
    case OpKind::gemm:
    case OpKind::math:
    case OpKind::ipcq_send:
    case OpKind::ipcq_recv:
    case OpKind::tile_dma_in:
    case OpKind::tile_gemm:
    case OpKind::tile_math:
    case OpKind::tile_dma_out:
      break;
  }
  Source& source = source_of(part, record);
  if (multiplies(record.kind)) part.macs += record.amount, source.sum->macs += record.amount;
  const CommandCharge* found = source.charges ? source.charges->find(record.command, record.kind) : nullptr;
  if (found == nullptr) return;
  const Charge& whole = book_[found->charge];
  add(part, source, record, found->amount == 0 ? whole : share_of(part, record, whole, found->amount));
}

EnergyMeter::Source& EnergyMeter::source_of(Part& part, const OpRecord& record) const {
  if (record.origin >= part.sources.size()) part.sources.resize(record.origin + 1);
  Source& source = part.sources[record.origin];
  if (source.sum != nullptr) return source;
  const device::Origin& origin = origins_[record.origin];
  auto& sum = part.by_request[origin.launch];
  if (!sum) sum = std::make_unique<RequestSum>();
  source.sum = sum.get();
  const auto request = requests_.find(origin.launch);
  if (request == requests_.end()) return source;
  const auto program = request->second.programs.find(origin.pe);
  if (program != request->second.programs.end()) source.charges = &program->second;
  return source;
}

/// Steps of a composite share its charge by their amounts; what is cut off from one is the next one's.
Charge EnergyMeter::share_of(Part& part, const OpRecord& record, const Charge& whole, std::uint64_t amount) {
  const std::tuple key(record.origin, record.command, record.kind);
  std::uint64_t& done = part.composites[key];
  const auto cut = [&](Energy energy, std::uint64_t upto) {
    return Energy::from_fj(energy.fj() * static_cast<Energy::Wide>(upto) / static_cast<Energy::Wide>(amount));
  };
  const std::uint64_t after = done + record.amount;
  Charge share;
  for (std::size_t i = 0; i < whole.parts.size(); ++i)
    if (whole.parts[i] != Energy()) share.parts[i] = cut(whole.parts[i], after) - cut(whole.parts[i], done);
  share.fetch = cut(whole.fetch, after) - cut(whole.fetch, done);
  done = after;
  if (after == amount) part.composites.erase(key);
  return share;
}

void EnergyMeter::add(Part& part, Source& source, const OpRecord& record, const Charge& charge) {
  add_parts(part.by_kind[static_cast<std::size_t>(record.kind)], charge.parts);
  add_parts(source.sum->parts, charge.parts);
  add_over_time(part, record, charge);
}

void EnergyMeter::add_over_time(Part& part, const OpRecord& record, const Charge& charge) {
  const Energy all = trace::sum(charge.parts);
  if (!is_unit_work(record.kind)) return part.windows.add(all, record.start, record.end);
  const trace::Phases phases = trace::phases_of(record);  // waiting for the unit, fetch, compute, store
  const Time fetching = record.start + phases.length[0], computing = fetching + phases.length[1],
             storing = computing + phases.length[2];
  const Energy tcm = charge.parts[at(EnergyPart::tcm)];
  part.windows.add(charge.fetch, fetching, computing);
  part.windows.add(all - tcm, computing, storing);
  part.windows.add(tcm - charge.fetch, storing, record.end);
}

namespace {

/// Windows that end with the run: what is left of time at the end counts with the last whole one.
std::vector<Energy> whole_windows(const trace::PowerWindows& windows, Time time) {
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(1, time.ps() / windows.window().ps()));
  std::vector<Energy> out(count);
  for (std::size_t i = 0; i < windows.sums().size(); ++i) out[std::min(i, count - 1)] += windows.sums()[i];
  return out;
}

}  // namespace

/// What links carried beyond the payload of operations. When it went is not known: it is spread over the run.
void EnergyMeter::add_other(trace::EnergyReport& report, trace::PowerWindows& windows) const {
  EnergyByPart carried{};
  for (std::uint32_t i = 0; i < device_.graph().link_count(); ++i)
    if (const Bytes bytes = device_.fabric().use({i}).bytes; bytes > 0_B) book_.add_link(carried, {i}, bytes);
  trace::OperationEnergy other{.kind = "other"};
  for (const EnergyPart part : {EnergyPart::routers, EnergyPart::ucie, EnergyPart::pcie})
    other.parts[at(part)] = carried[at(part)] - report.parts[at(part)];
  add_parts(report.parts, other.parts);
  windows.add(other.total(), Time(), report.time);
  if (other.total() != Energy()) report.operations.push_back(other);
}

trace::EnergyReport EnergyMeter::report() const {
  trace::EnergyReport report;
  trace::PowerWindows windows;
  std::map<std::uint32_t, RequestSum> requests;
  std::array<EnergyByPart, device::kOpKinds> by_kind{};
  for (const Part& part : parts_) {
    report.time = std::max(report.time, part.last_end);
    report.macs += part.macs;
    windows.add(part.windows);
    for (std::size_t i = 0; i < by_kind.size(); ++i) add_parts(by_kind[i], part.by_kind[i]);
    for (const auto& [number, sum] : part.by_request) {
      add_parts(requests[number].parts, sum->parts);
      requests[number].macs += sum->macs;
    }
  }
  for (std::size_t i = 0; i < by_kind.size(); ++i) {
    const trace::OperationEnergy one{to_string(static_cast<OpKind>(i)), by_kind[i]};
    add_parts(report.parts, one.parts);
    if (one.total() != Energy()) report.operations.push_back(one);
  }
  for (const auto& [number, sum] : requests)
    if (trace::sum(sum.parts) != Energy()) report.requests.push_back({number, sum.parts, sum.macs});
  add_other(report, windows);
  report.static_mw = book_.prices().machine_mw, report.sip_static_mw = book_.prices().sip_mw;
  trace::OperationEnergy always{.kind = "static"};
  always.parts[at(EnergyPart::static_)] =
      Energy::from_fj(static_cast<Energy::Wide>(report.static_mw) * report.time.ps());
  add_parts(report.parts, always.parts);
  windows.add(always.total(), Time(), report.time);
  if (always.total() != Energy()) report.operations.push_back(always);
  report.window = windows.window();
  report.windows = whole_windows(windows, report.time);
  report.unpriced.assign(book_.unpriced().begin(), book_.unpriced().end());
  return report;
}

}  // namespace kernbench::runtime
