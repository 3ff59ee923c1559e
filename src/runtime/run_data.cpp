#include "runtime/run_data.hpp"

#include <algorithm>
#include <utility>

#include "device/pe_spec.hpp"
#include "kernbench/error.hpp"
#include "runtime/lookahead.hpp"

namespace kernbench::runtime {

using device::OpKind;

namespace {

data::TileShape gemm_tile(const RunBooks& books) {
  const auto spec = device::PeSpec::of(books.processors.device().machine());
  return {.m = spec.tile.m, .n = spec.tile.n, .k = spec.tile.k};
}

void add_names(data::NamedRanges& names, const Storage& storage) {
  const auto& holders = storage.layout.holders();
  for (const std::uint32_t h : storage.owners)
    names.add(storage.copies[h], Bytes(storage.layout.blocks()[holders[h].block].bytes), storage.name);
}

}  // namespace

template <class Ended, class Departed>
void RunCursor::advance(const RunBooks& books, Time now, const Ended& ended, const Departed& departed) {
  const std::vector<device::Departure> left = departures(books, now);
  auto next = left.begin();
  const auto in_turn = [&](const device::OpRecord& record) {
    for (; next != left.end() && next->at < record.end; ++next) departed(*next);
    ended(record);
  };
  const trace::Records records = books.log.records();
  Lookahead ahead(books.processors.origins());
  trace::in_total_order(records, next_, now, [&](trace::OpId, const device::OpRecord& record) {
    if (const device::OpRecord* due = ahead.next(record)) in_turn(*due);
  });
  ahead.finish(in_turn);
  for (; next != left.end(); ++next) departed(*next);
}

/// Those by now, in the order of time; of one instant, by partition.
std::vector<device::Departure> RunCursor::departures(const RunBooks& books, Time now) {
  next_departure_.resize(books.log.partitions());
  std::vector<device::Departure> all;
  for (std::size_t p = 0; p < next_departure_.size(); ++p) {
    const auto& of_partition = books.log.departures(p);
    for (auto& next = next_departure_[p]; next < of_partition.size() && of_partition[next].at <= now; ++next)
      all.push_back(of_partition[next]);
  }
  std::ranges::stable_sort(all, {}, &device::Departure::at);
  return all;
}

// ── facts ──

void MapHistory::add(const std::shared_ptr<const Storage>& storage) {
  auto at = tensors_.lower_bound(storage->base);
  if (at != tensors_.begin() && std::prev(at)->second->base + std::prev(at)->second->size() > storage->base)
    --at;
  while (at != tensors_.end() && at->first < storage->base + storage->size()) at = tensors_.erase(at);
  tensors_.emplace(storage->base, storage);
  last_ = nullptr;
}

const Storage& MapHistory::at(address::VirtAddr address, std::uint32_t request) {
  for (; next_ < request; ++next_)
    if (requests_[next_]->phase() == Phase::map)
      add(static_cast<const MapRequest&>(*requests_[next_]).storage());
  if (last_ != nullptr && last_->base <= address && address < last_->base + last_->size()) return *last_;
  auto found = tensors_.upper_bound(address);
  KB_ASSERT(found != tensors_.begin(), "a record of request {} at {}, which was never mapped", request,
            to_string(address));
  last_ = (--found)->second.get();
  return *last_;
}

void Facts::translate(std::uint32_t index, address::VirtAddr begin, Bytes size,
                      std::vector<address::PhysPiece>& out) {
  const device::Origin& from = origin(index);
  const Storage& storage = maps_.at(begin, from.launch);
  out.clear();
  storage.segment(from.pe)->append_pieces(begin - storage.base, size, out);
}

data::Message Facts::message(const device::OpRecord& record) {
  const device::QueueMessage message = device::message_of(record, origin(record.origin));
  return {message.ring, message.number};
}

data::Ring Facts::ring(std::uint32_t ring) {
  const auto found = books_.processors.queues().ring(ring);
  return {static_cast<std::uint32_t>(found.slots), found.in_slot};
}

data::HostTransfer Facts::host_transfer(const device::OpRecord& record) {
  const auto& request = static_cast<const TransferRequest&>(request_of(record));
  const bool read = request.phase() == Phase::read;
  data::HostTransfer transfer;
  for (const auto& place : request.places()) {
    const Chunk& c = request.chunks()[place.chunk];
    const address::PhysAddr at = request.address(place);
    for (std::int64_t row = 0; row < c.rows; ++row) {
      transfer.pieces.push_back({at + Bytes(row * c.stride), Bytes(c.row_bytes)});
      transfer.offsets.push_back((read ? place.in_buffer : c.in_buffer) + row * c.row_bytes);
    }
  }
  return transfer;
}

data::RequestOrder Facts::request_order(std::uint32_t request) {
  const Request& r = *books_.requests[request];
  return {static_cast<std::uint32_t>(r.stream().number()), r.after(),
          r.after_all() ? &r.after_all()->requests : nullptr};
}

// ── replay ──

/// Makes what writes write when it is wanted, and keeps it until it has been written.
class RunReplay::ReplayFacts final : public Facts {
 public:
  using Facts::Facts;

  data::HostTransfer host_transfer(const device::OpRecord& record) override {
    data::HostTransfer transfer = Facts::host_transfer(record);
    auto& request = static_cast<TransferRequest&>(request_of(record));
    if (request.phase() == Phase::read) {
      transfer.bytes = request.buffer;
      return transfer;
    }
    std::size_t bytes = 0;
    for (const Chunk& c : request.chunks()) bytes += static_cast<std::size_t>(c.bytes());
    const auto& made = made_.emplace_back(request.content(bytes));
    transfer.bytes = {const_cast<std::byte*>(made.get()), bytes};  // of a write they are only read
    request.content = nullptr;
    released_ += std::exchange(request.content_bytes, 0);
    made_bytes_ += bytes;
    return transfer;
  }

  std::size_t made_bytes() const { return made_bytes_; }
  void written() { made_.clear(), made_bytes_ = 0; }
  std::int64_t take_released() { return std::exchange(released_, 0); }

 private:
  std::vector<std::shared_ptr<const std::byte>> made_;
  std::size_t made_bytes_ = 0;
  std::int64_t released_ = 0;
};

RunReplay::RunReplay(const RunBooks& books, const TorchOptions& options)
    : books_(books),
      interrupt_(options.interrupt),
      facts_(std::make_unique<ReplayFacts>(books)),
      executor_(store_, *facts_, {.threads = options.replay_threads, .gemm_tile = gemm_tile(books)}) {}

RunReplay::~RunReplay() = default;

std::int64_t RunReplay::advance(Time now) {
  if (failure_) std::rethrow_exception(failure_);
  try {
    cursor_.advance(
        books_, now,
        [&](const device::OpRecord& record) {
          check_interrupt();
          take(record);
        },
        [&](const device::Departure& departure) { executor_.depart(departure); });
    settle();
  } catch (...) {
    failure_ = std::current_exception();
    throw;
  }
  return facts_->take_released();
}

void RunReplay::check_interrupt() const {
  if (interrupt_ != nullptr && *interrupt_)
    throw Interrupted({"runtime.interrupted", "", "the run was stopped while its numbers were computed", ""});
}

void RunReplay::settle() {
  executor_.finish();
  facts_->written();
}

void RunReplay::take(const device::OpRecord& record) {
  constexpr std::size_t kMostMade = std::size_t{256} << 20;  // bytes waiting to be written
  if (record.kind == OpKind::host_map) {
    const Request& request = facts_->request_of(record);
    if (request.phase() == Phase::map)
      add_names(store_.names(), *static_cast<const MapRequest&>(request).storage());
    if (request.phase() == Phase::unmap) unmapped(static_cast<const UnmapRequest&>(request).storage());
    return;
  }
  if (record.kind == OpKind::host_read) return host_read(record);
  executor_.append(record);
  if (facts_->made_bytes() > kMostMade) settle();
}

/// What nobody wrote is the reader's error, not the run's.
void RunReplay::host_read(const device::OpRecord& record) {
  settle();
  auto& request = static_cast<TransferRequest&>(facts_->request_of(record));
  for (const auto& piece : facts_->Facts::host_transfer(record).pieces)
    if (!request.unwritten) request.unwritten = store_.first_unwritten(piece.begin, piece.size);
  if (!request.unwritten) executor_.append(record);
}

/// Whoever gets the memory next must not find the old values.
void RunReplay::unmapped(const Storage& storage) {
  settle();
  const auto& holders = storage.layout.holders();
  for (const std::uint32_t h : storage.owners)
    store_.forget(storage.copies[h], Bytes(storage.layout.blocks()[holders[h].block].bytes));
}

// ── hazards ──

RunHazards::RunHazards(const RunBooks& books)
    : books_(books), facts_(books), detector_(facts_, {.gemm_tile = gemm_tile(books), .names = &names_}) {}

const std::vector<data::Hazard>& RunHazards::advance(Time now, bool at_end) {
  cursor_.advance(
      books_, now,
      [&](const device::OpRecord& record) {
        if (record.kind == OpKind::host_map) host_map(facts_.request_of(record));
        ++records_;
        detector_.append(record);
      },
      [&](const device::Departure& departure) { detector_.depart(departure); });
  if (!at_end || ended_) return detector_.hazards();
  ended_ = true;
  return detector_.finish();
}

/// Names of new tensors; queues that are gone, with what nobody read from them.
void RunHazards::host_map(const Request& request) {
  if (request.phase() == Phase::map) add_names(names_, *static_cast<const MapRequest&>(request).storage());
  if (request.phase() != Phase::install) return;
  if (const auto& gone = static_cast<const InstallRequest&>(request).replaced())
    for (std::uint32_t i = 0; i < gone->rings(); ++i) detector_.drop_ring(gone->first_ring() + i);
}

}  // namespace kernbench::runtime
