#include "report/op_rows.hpp"

#include <algorithm>
#include <memory>

#include "kernbench/error.hpp"

namespace kernbench::report {
namespace {

using device::OpKind;
using device::OpRecord;

enum class Unit { bytes, macs, elements };

Unit unit_of(OpKind kind) {
  switch (kind) {
    case OpKind::gemm:
    case OpKind::tile_gemm:
      return Unit::macs;
    case OpKind::math:
    case OpKind::tile_math:
      return Unit::elements;
    case OpKind::dma_read:
    case OpKind::dma_write:
    case OpKind::load_scalar:
    case OpKind::ipcq_send:
    case OpKind::ipcq_recv:
    case OpKind::tile_dma_in:
    case OpKind::tile_dma_out:
    case OpKind::program:
    case OpKind::host_write:
    case OpKind::host_read:
    case OpKind::host_map:
    case OpKind::host_launch:
      return Unit::bytes;
  }
  return Unit::bytes;
}

using MaybeInteger = std::optional<std::int64_t>;

MaybeInteger unless_zero(std::uint64_t value) {
  return value == 0 ? MaybeInteger() : MaybeInteger(static_cast<std::int64_t>(value));
}

int phases_of_kind(OpKind kind) {
  const auto resources = device::phase_resources(kind);
  int count = 0;
  while (count < 4 && resources[static_cast<std::size_t>(count)] != device::Resource::none) ++count;
  return count;
}

/// The words that phases leave free are the message's: its number, and of a receive its ring; of a transfer, what it waited for
/// its window.
struct FreeWords {
  MaybeInteger message, queue;
};

FreeWords free_words(const OpRecord& r, int phases) {
  if (r.kind == OpKind::ipcq_send) return {r.phase[2], {}};
  if (r.kind == OpKind::ipcq_recv) return {r.phase[1], r.phase[2]};
  switch (phases) {
    case 4:
      return {};
    case 3:
      return {unless_zero(r.phase[2]), {}};
    default:
      KB_ASSERT(phases == 2 || r.phase[0] == 0, "a record of {} with one phase has a word in the way",
                to_string(r.kind));
      return {unless_zero(r.phase[1]), unless_zero(r.phase[2])};
  }
}

template <class Enum, std::size_t kCount>
Enum named(std::string_view name) {
  for (std::size_t i = 0; i < kCount; ++i)
    if (to_string(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
  throw BadRow();
}

std::uint32_t word(std::int64_t value) {
  if (value < 0 || value > UINT32_MAX) throw BadRow();
  return static_cast<std::uint32_t>(value);
}

/// The packed phases and the words behind them.
std::array<std::uint32_t, 3> words_of(const TableReader& row, OpKind kind) {
  std::array<std::uint32_t, 3> words{};
  const int phases = phases_of_kind(kind);
  for (int i = 0; i + 1 < phases; ++i)
    words[static_cast<std::size_t>(i)] = device::packed_phase(Time::from_ps(row.integer(kPhase1 + i)));
  if (phases == 3) words[2] = word(row.integer(kMessage));
  if (phases <= 2) words[1] = word(row.integer(kMessage)), words[2] = word(row.integer(kQueue));
  return words;
}

OpRecord record_of(const TableReader& row) {
  OpRecord r;
  r.kind = named<OpKind, device::kOpKinds>(row.text(kKind));
  r.reason = named<device::Reason, device::kReasons>(row.text(kReason));
  r.start = Time::from_ps(row.integer(kStart)), r.end = Time::from_ps(row.integer(kEnd));
  r.cause_instant = Time::from_ps(row.integer(kCausePs));
  const Unit unit = unit_of(r.kind);
  r.amount = static_cast<std::uint64_t>(row.integer(unit == Unit::bytes  ? kBytes
                                                    : unit == Unit::macs ? kMacs
                                                                         : kElements));
  r.serial = word(row.integer(kSerial)), r.origin = word(row.integer(kProgram));
  r.command = row.is_null(kCommand) ? UINT32_MAX : word(row.integer(kCommand));
  r.phase = words_of(row, r.kind);
  return r;
}

}  // namespace

std::string_view component_of(OpKind kind) {
  switch (kind) {
    case OpKind::dma_read:
    case OpKind::dma_write:
    case OpKind::load_scalar:
    case OpKind::tile_dma_in:
    case OpKind::tile_dma_out:
      return "pe_dma";
    case OpKind::gemm:
    case OpKind::tile_gemm:
      return "pe_gemm";
    case OpKind::math:
    case OpKind::tile_math:
      return "pe_math";
    case OpKind::ipcq_send:
    case OpKind::ipcq_recv:
      return "pe_ipcq";
    case OpKind::program:
      return "pe_cpu";
    case OpKind::host_write:
    case OpKind::host_read:
    case OpKind::host_map:
    case OpKind::host_launch:
      return "host";
  }
  return {};
}

OpNumbers::OpNumbers(const trace::Records& records) : numbers_(records.size()) {
  for (std::size_t p = 0; p < records.size(); ++p) numbers_[p].resize(records[p].size());
  std::uint32_t next = 1;
  trace::in_total_order(records,
                        [&](trace::OpId id, const OpRecord&) { numbers_[id.partition][id.id] = next++; });
}

void OpRowWriter::write(trace::OpId id, const OpRecord& r, MaybeInteger queue) {
  const trace::OriginInfo& origin = run_.origin(r);
  const bool host = origin.is_host();
  const auto phases = trace::phases_of_kind(r);
  const auto phase = [&](int i) {
    return i < phases.count ? MaybeInteger(phases.length[static_cast<std::size_t>(i)].ps()) : MaybeInteger();
  };
  const Unit unit = unit_of(r.kind);
  const auto amount = [&](Unit of) { return unit == of ? unless_zero(r.amount) : MaybeInteger(); };
  const bool has_command = r.command != UINT32_MAX;
  const auto cause = r.cause() ? run_.causes().find(r.cause()) : std::nullopt;
  const std::uint64_t unfinished =
      cause ? 0 : std::uint64_t{r.cause_partition} << 32 | std::uint64_t{r.cause_serial};
  const FreeWords free = free_words(r, phases.count);
  table_.row(numbers_.of(id), origin.launch, origin.pe.sip,
             host ? MaybeInteger() : MaybeInteger(origin.pe.cube),
             host ? MaybeInteger() : MaybeInteger(origin.pe.pe), component_of(r.kind), to_string(r.kind),
             r.start.ps(), r.end.ps(), amount(Unit::bytes), amount(Unit::macs), amount(Unit::elements),
             has_command ? MaybeInteger(origin.lines[r.command]) : MaybeInteger(),
             has_command ? MaybeInteger(r.command) : MaybeInteger(),
             cause ? MaybeInteger(numbers_.of(*cause)) : MaybeInteger(), r.cause_instant.ps(),
             to_string(r.reason), phase(0), phase(1), phase(2), phase(3), queue ? queue : free.queue,
             free.message, r.origin, id.partition, r.serial, unless_zero(unfinished));
}

void OpRowReader::add(const TableReader& row) {
  const std::int64_t number = row.integer(kId), writer = row.integer(kWrittenBy);
  if (number < 1 || number > ids_ || writer < 0 || writer >= static_cast<std::int64_t>(parts_.size()))
    throw BadRow();
  Part& part = parts_[static_cast<std::size_t>(writer)];
  OpRecord& r = part.records.emplace_back(record_of(row));
  if (const std::int64_t cause = row.integer(kCauseUnfinished); cause != 0)
    r.cause_partition = static_cast<std::uint16_t>(cause >> 32), r.cause_serial = word(cause & UINT32_MAX);
  part.causes.push_back(row.integer(kCauseOp));
  if (!places_.empty() && number <= places_.back().number) throw BadRow();
  places_.push_back(
      {number, {static_cast<std::uint16_t>(writer), static_cast<std::uint32_t>(part.records.size() - 1)}});
}

/// The partition is UINT16_MAX if the file does not have it.
trace::OpId OpRowReader::place_of(std::int64_t number) const {
  const auto own = static_cast<std::size_t>(number - 1);  // where it is if all before it were kept
  if (number > 0 && own < places_.size() && places_[own].number == number) return places_[own].at;
  const auto found = std::ranges::lower_bound(places_, number, {}, &Place::number);
  return found != places_.end() && found->number == number ? found->at : trace::OpId{UINT16_MAX, 0};
}

trace::Records OpRowReader::finish(const trace::RunInfo& info) {
  for (Part& part : parts_)
    for (std::size_t i = 0; i < part.records.size(); ++i) {
      const std::int64_t cause = part.causes[i];
      if (cause < 0 || cause > ids_) throw BadRow();
      const trace::OpId at = place_of(cause);
      if (at.partition == UINT16_MAX) continue;  // it has none, or it was not kept
      const OpRecord& of = parts_[at.partition].records[at.id];
      if (of.origin >= info.origins.size()) throw BadRow();
      part.records[i].cause_partition = trace::home_of(of, at.partition, info);
      part.records[i].cause_serial = of.serial;
    }
  trace::Records records;
  for (Part& part : parts_) {
    const auto kept = std::make_shared<const std::vector<OpRecord>>(std::move(part.records));
    records.push_back(
        trace::PartitionRecords::contiguous(kept->data(), static_cast<std::uint32_t>(kept->size()), kept));
  }
  return records;
}

}  // namespace kernbench::report
