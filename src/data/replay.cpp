#include "data/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "data/compute.hpp"
#include "data/open_composites.hpp"
#include "data/replay_window.hpp"
#include "kernbench/error.hpp"

namespace kernbench::data {
namespace {

constexpr std::uint32_t kHostStrand = 0;  // strands of PEs count from 1

int threads_of(const ReplayOptions& options) {
  return options.threads > 0 ? options.threads
                             : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

/// What a message carries.
struct Carried {
  Buffer content = nullptr;  // of a send that was done at once

  // Where it puts the content, if it is work of a window.
  std::shared_ptr<Buffer> later = nullptr;
  WorkRef send{};
  std::uint64_t generation = 0;
};

/// A value on its way from a send to its receive.
struct Posted {
  std::uint32_t number;  // of the message
  std::uint32_t sender;  // its origin
  const isa::Command* command;
  Bytes size;
  Carried carried;
};

void append(Pieces& to, const Pieces& more) { to.insert(to.end(), more.begin(), more.end()); }

/// Below that, doing it costs less than handing it to another thread.
constexpr Bytes kSmall = 2_KiB;
constexpr Bytes kLarge = 4_KiB;

Bytes size_of(const Pieces& pieces) {
  std::int64_t bytes = 0;
  for (const Piece& p : pieces) bytes += p.bytes;
  return Bytes(bytes);
}

}  // namespace

/// Walks the records in order and turns them into work: finds where bytes are, checks that they were written,
/// and says what must come before what. The work itself looks at nothing but tiles and memory.
class ReplayExecutor::Planner {
 public:
  Planner(MemoryStore& store, RunFacts& facts, const ReplayOptions& options)
      : store_(store),
        facts_(facts),
        tile_(options.gemm_tile),
        window_size_(options.window),
        finder_(facts),
        window_(threads_of(options)) {}

  void append(const device::OpRecord& record);
  void depart(const device::Departure& departure);
  void finish();

 private:
  struct Running {  // a program with records
    const isa::Program* program;
    std::uint32_t strand;
    LiveTiles tiles;
  };
  struct At {  // the command a record is about
    std::uint32_t origin;
    Running& running;
    std::uint32_t index;
    const isa::Command& command;
    const isa::Program& program() const { return *running.program; }
    LiveTiles* tiles() const { return &running.tiles; }
  };

  At at(std::uint32_t origin, std::uint32_t command);
  At at(const device::OpRecord& record) { return at(record.origin, record.command); }
  std::string place(const At& at) const { return place(at.origin, at.command); }
  std::string place(std::uint32_t origin, const isa::Command& command) const;
  bool at_once(Bytes size) const { return window_.size() == 0 && size <= kSmall; }
  template <class Work>
  void perform(std::uint32_t strand, Bytes size, const Pieces& pieces, bool write, const Work& work);
  void plan(const device::OpRecord& record);

  void dma_read(const At& at);
  void dma_write(const At& at);
  void atomic(const At& at);
  void load_scalar(const At& at);
  void calculation(const At& at);
  template <class Put>
  Carried carry(const At& at, Bytes size, const Pieces& pieces, const Put& put);
  void send(const At& at, const device::OpRecord& record);
  Carried sent(const At& at);
  void receive(const At& at, const device::OpRecord& record);
  Posted take(const At& at, const Message& message);
  void host_write(const device::OpRecord& record);
  void host_read(const device::OpRecord& record);
  void tile_step(const At& at, device::OpKind kind);

  template <class Where>
  void check_readable(const Pieces& pieces, Where&& where);
  void make_writable(const Pieces& pieces);
  void disturb(const Pieces& pieces, bool write);

  OpenComposite& composite(const At& at);
  OpenComposite open(const At& at);
  void count(OpenComposite& c, device::OpKind kind);
  void run_whole(const At& at, OpenComposite& c);
  void advance(OpenComposite& c, std::int64_t reads, std::int64_t products, std::int64_t writes);
  void catch_up(OpenComposite& c);

  MemoryStore& store_;
  RunFacts& facts_;
  TileShape tile_;
  std::size_t window_size_;
  PieceFinder finder_;
  ReplayWindow window_;
  Time last_end_;
  std::vector<std::unique_ptr<Running>> running_;  // by origin
  std::map<PeCoord, std::uint32_t> strands_;
  std::vector<std::vector<Posted>> posted_;  // by ring: not more than it has slots
  std::map<std::pair<std::uint32_t, std::uint32_t>, Carried> departed_;          // likewise: not yet posted
  std::map<std::pair<std::uint32_t, std::uint32_t>, OpenComposite> composites_;  // by origin and command
  OpenComposites put_off_;
  std::uint64_t composites_seen_ = 0;
};

ReplayExecutor::Planner::At ReplayExecutor::Planner::at(std::uint32_t origin, std::uint32_t command) {
  if (origin >= running_.size()) running_.resize(origin + 1);
  auto& running = running_[origin];
  if (!running) {
    const auto& from = facts_.origin(origin);
    KB_ASSERT(from.program != nullptr, "a record of the host has the command {}", command);
    const auto next = static_cast<std::uint32_t>(strands_.size() + 1);
    const auto strand = strands_.try_emplace(from.pe, next).first->second;
    running = std::make_unique<Running>(Running{from.program, strand, LiveTiles(*from.program)});
  }
  return {origin, *running, command, running->program->command(command)};
}

std::string ReplayExecutor::Planner::place(std::uint32_t origin, const isa::Command& command) const {
  const auto& from = facts_.origin(origin);
  return fmt::format("kernel '{}' on {}, {} at {}", from.program->kernel(), to_string(from.pe),
                     to_string(command.kind), to_string(from.program->line(command)));
}

/// Does what is small at once, if nothing waits to be done before it; else it becomes work of the window.
template <class Work>
void ReplayExecutor::Planner::perform(std::uint32_t strand, Bytes size, const Pieces& pieces, bool write,
                                      const Work& work) {
  if (at_once(size)) return work(1);
  window_.touches(window_.add(strand, work), pieces, write);
}

void ReplayExecutor::Planner::append(const device::OpRecord& record) {
  KB_ASSERT(record.end >= last_end_, "a record that ends at {} comes after one that ends at {}",
            to_string(record.end), to_string(last_end_));
  last_end_ = record.end;
  plan(record);
  if (window_.size() >= window_size_) window_.run();
}

void ReplayExecutor::Planner::plan(const device::OpRecord& record) {
  using device::OpKind;
  switch (record.kind) {
    case OpKind::dma_read:
      return dma_read(at(record));
    case OpKind::dma_write:
      return dma_write(at(record));
    case OpKind::load_scalar:
      return load_scalar(at(record));
    case OpKind::gemm:
    case OpKind::math:
      return calculation(at(record));
    case OpKind::ipcq_send:
      return send(at(record), record);
    case OpKind::ipcq_recv:
      return receive(at(record), record);
    case OpKind::tile_dma_in:
    case OpKind::tile_gemm:
    case OpKind::tile_dma_out:
      return tile_step(at(record), record.kind);
    case OpKind::host_write:
      return host_write(record);
    case OpKind::host_read:
      return host_read(record);
    case OpKind::tile_math:  // epilogues are computed with the products they belong to
    case OpKind::program:
    case OpKind::host_map:
    case OpKind::host_launch:
      return;
  }
}

void ReplayExecutor::Planner::finish() {
  for (auto* c : put_off_.all()) catch_up(*c);
  window_.run();
}

// ── memory ──

void ReplayExecutor::Planner::disturb(const Pieces& pieces, bool write) {
  for (auto* c : put_off_.disturbed_by(pieces, write)) catch_up(*c);
}

template <class Where>
void ReplayExecutor::Planner::check_readable(const Pieces& pieces, Where&& where) {
  for (const auto& p : pieces)
    if (const auto hole = store_.first_unwritten(p.at, Bytes(p.bytes))) store_.fail_unwritten(*hole, where());
}

void ReplayExecutor::Planner::make_writable(const Pieces& pieces) {
  for (const auto& p : pieces) store_.reserve(p.at, Bytes(p.bytes));
}

void ReplayExecutor::Planner::dma_read(const At& at) {
  if (at.command.kind == isa::CommandKind::atomic) return;  // the first half of one
  const auto pieces = finder_.of_dma(at.origin, at.program(), at.command);
  disturb(pieces, false);
  check_readable(pieces, [&] { return place(at); });
  if (!at.tiles()->wanted(at.command.result)) return;
  perform(at.running.strand, at.program().bytes(at.command.result), pieces, false, [this, at, pieces](int) {
    at.tiles()->put(at.command.result, loaded(store_, at.program(), at.command, pieces));
  });
}

/// Atomics take effect where they write, in the order of their records.
void ReplayExecutor::Planner::atomic(const At& at) {
  const auto pieces = finder_.of_dma(at.origin, at.program(), at.command);
  disturb(pieces, true);
  check_readable(pieces, [&] { return place(at); });
  const Bytes size = at.program().bytes(at.command.read[0]);
  perform(at.running.strand, size, pieces, true, [this, at, pieces, size](int) {
    const auto content = combined(store_, *at.tiles(), at.program(), at.command, pieces);
    copy_in(store_, pieces, {content.get(), static_cast<std::size_t>(size.count())});
    at.tiles()->retire(at.command);
  });
}

void ReplayExecutor::Planner::dma_write(const At& at) {
  if (at.command.kind == isa::CommandKind::atomic) return atomic(at);
  const auto pieces = finder_.of_dma(at.origin, at.program(), at.command);
  disturb(pieces, true);
  make_writable(pieces);
  perform(at.running.strand, at.program().bytes(at.command.read[0]), pieces, true, [this, at, pieces](int) {
    copy_in(store_, pieces, at.tiles()->operand(at.command.read[0]).bytes());
    at.tiles()->retire(at.command);
  });
}

// The number was read while recording; here it only has to be there.
void ReplayExecutor::Planner::load_scalar(const At& at) {
  const auto pieces = finder_.of_range(at.origin, at.program().address(at.command),
                                       Bytes(itemsize(at.program().scalar_dtype(at.command))));
  disturb(pieces, false);
  check_readable(pieces, [&] { return place(at); });
}

void ReplayExecutor::Planner::host_write(const device::OpRecord& record) {
  const auto transfer = facts_.host_transfer(record);
  const auto pieces = pieces_of(transfer);
  disturb(pieces, true);
  make_writable(pieces);
  perform(kHostStrand, size_of(pieces), pieces, true,
          [this, pieces, bytes = transfer.bytes](int) { copy_in(store_, pieces, bytes); });
}

void ReplayExecutor::Planner::host_read(const device::OpRecord& record) {
  const auto transfer = facts_.host_transfer(record);
  const auto pieces = pieces_of(transfer);
  disturb(pieces, false);
  check_readable(pieces,
                 [&] { return fmt::format("host read, request {}", facts_.origin(record.origin).launch); });
  perform(kHostStrand, size_of(pieces), pieces, false,
          [this, pieces, bytes = transfer.bytes](int) { copy_out(store_, pieces, bytes); });
}

// ── engines and queues ──

void ReplayExecutor::Planner::calculation(const At& at) {
  const Bytes size = at.command.kind == isa::CommandKind::math ? at.tiles()->touched(at.command) : kLarge;
  perform(at.running.strand, size, {}, false, [at](int threads) {
    if (at.tiles()->wanted(at.command.result))
      at.tiles()->put(at.command.result, compute(*at.tiles(), at.program(), at.command, threads));
    at.tiles()->retire(at.command);
  });
}

void ReplayExecutor::Planner::send(const At& at, const device::OpRecord& record) {
  const auto message = facts_.message(record);
  if (message.ring >= posted_.size()) posted_.resize(message.ring + 1);
  auto& ring = posted_[message.ring];
  KB_ASSERT(std::ranges::find(ring, message.number, &Posted::number) == ring.end(),
            "two sends are message {} of ring {:#x}", message.number, message.ring);
  ring.push_back({message.number, at.origin, &at.command, at.program().bytes(at.command.read[0]), sent(at)});
}

/// The value of the tile; what a reference held when its last byte had left.
Carried ReplayExecutor::Planner::sent(const At& at) {
  const auto value = at.command.read[0];
  if (at.program().value(value).kind == isa::ValueKind::reference) {
    const auto found = departed_.find({at.origin, at.index});
    KB_ASSERT(found != departed_.end(), "{} has arrived without having left", place(at));
    return std::move(departed_.extract(found).mapped());
  }
  return carry(at, at.program().bytes(value), {}, [at, value](Buffer& to) {
    const auto tile = at.tiles()->operand(value);
    to = Buffer(tile.keep, const_cast<std::byte*>(tile.array.data));
    at.tiles()->retire(at.command);
  });
}

void ReplayExecutor::Planner::depart(const device::Departure& departure) {
  const At at = this->at(departure.origin, departure.command);
  const auto value = at.command.read[0];
  const auto pieces = finder_.of_reference(at.origin, at.program(), value);
  disturb(pieces, false);
  check_readable(pieces, [&] { return place(at); });
  const Bytes size = at.program().bytes(value);
  const auto put = [this, pieces, size](Buffer& to) {
    to = new_buffer(size);
    copy_out(store_, pieces, {to.get(), static_cast<std::size_t>(size.count())});
  };
  departed_.emplace(std::pair(at.origin, at.index), carry(at, size, pieces, put));
  if (window_.size() >= window_size_) window_.run();
}

/// Reads what is to be sent, now or as work of the window.
template <class Put>
Carried ReplayExecutor::Planner::carry(const At& at, Bytes size, const Pieces& pieces, const Put& put) {
  Carried carried;
  if (at_once(size)) {
    put(carried.content);
    return carried;
  }
  carried.later = std::make_shared<Buffer>();
  carried.send = window_.add(at.running.strand, [put, to = carried.later](int) { put(*to); });
  window_.touches(carried.send, pieces, false);
  carried.generation = window_.generation();
  return carried;
}

/// The message with that number, which is posted no more then.
Posted ReplayExecutor::Planner::take(const At& at, const Message& message) {
  if (message.ring >= posted_.size()) posted_.resize(message.ring + 1);
  auto& ring = posted_[message.ring];
  const auto found = std::ranges::find(ring, message.number, &Posted::number);
  KB_ASSERT(found != ring.end(), "{} receives message {} of ring {:#x} before the record of its send",
            place(at), message.number, message.ring);
  auto posted = std::move(*found);
  ring.erase(found);
  const auto size = at.program().bytes(at.command.result);
  if (size != posted.size)
    throw SimulationError(
        {.id = "data.message",
         .where = place(at),
         .what = fmt::format("receives a tile of {}, but {} was sent by {}", to_string(size),
                             to_string(posted.size), place(posted.sender, *posted.command)),
         .hint = "send and receive the same shape and dtype"});
  return posted;
}

void ReplayExecutor::Planner::receive(const At& at, const device::OpRecord& record) {
  auto posted = take(at, facts_.message(record));
  Carried& carried = posted.carried;
  Pieces pieces;
  if (at.program().has_destination(at.command)) {
    pieces = finder_.of_range(at.origin, at.program().address(at.command), posted.size);
    disturb(pieces, true);
    make_writable(pieces);
  }
  const auto get = [this, at, pieces, size = posted.size](Buffer content) {
    copy_in(store_, pieces, {content.get(), static_cast<std::size_t>(size.count())});
    at.tiles()->put(at.command.result, std::move(content));
  };
  if (at_once(posted.size)) return get(carried.later ? *carried.later : std::move(carried.content));
  const bool sent_later = carried.later != nullptr;
  const auto from = sent_later ? carried.later : std::make_shared<Buffer>(std::move(carried.content));
  const auto work = window_.add(at.running.strand, [get, from](int) { get(*from); });
  window_.touches(work, pieces, true);
  if (sent_later && carried.generation == window_.generation()) window_.order(carried.send, work);
}

// ── composites ──

OpenComposite ReplayExecutor::Planner::open(const At& at) {
  const auto& program = at.program();
  const auto& spec = program.composite(at.command);
  const auto pieces = [&](isa::ValueId id) {
    const bool in_memory = program.value(id).kind == isa::ValueKind::reference;
    return in_memory ? finder_.of_reference(at.origin, program, id) : Pieces();
  };
  OpenComposite c;
  c.serial = composites_seen_++;
  c.origin = at.origin;
  c.command = at.index;
  c.work = std::make_shared<Composite>(program, at.command, tile_, pieces(spec.a), pieces(spec.b),
                                       pieces(spec.out));
  return c;
}

/// Putting off is right as long as nobody else looks: those that are put off must not disturb each other
/// either.
OpenComposite& ReplayExecutor::Planner::composite(const At& at) {
  const std::pair key(at.origin, at.index);
  const auto found = composites_.find(key);
  if (found != composites_.end()) return found->second;
  auto& c = composites_.emplace(key, open(at)).first->second;
  bool alone = !OpenComposites::overlaps_itself(*c.work);
  for (const auto& [pieces, write] :
       {std::pair(&c.work->a_pieces(), false), std::pair(&c.work->b_pieces(), false),
        std::pair(&c.work->out_pieces(), true)}) {
    alone = alone && put_off_.disturbed_by(*pieces, write).empty();
    disturb(*pieces, write);
  }
  c.put_off = alone;
  if (alone) put_off_.add(c);
  return c;
}

void ReplayExecutor::Planner::count(OpenComposite& c, device::OpKind kind) {
  c.reads += kind == device::OpKind::tile_dma_in ? 1 : 0;
  c.products += kind == device::OpKind::tile_gemm ? 1 : 0;
  c.writes += kind == device::OpKind::tile_dma_out ? 1 : 0;
  KB_ASSERT(c.reads <= c.work->plan().steps() * c.work->references() &&
                c.products <= c.work->plan().steps() && c.writes <= c.work->plan().outputs(),
            "more {} records than the tile plan of the composite has", to_string(kind));
}

void ReplayExecutor::Planner::tile_step(const At& at, device::OpKind kind) {
  auto& c = composite(at);
  const bool put_off = c.put_off;
  if (!put_off)
    advance(c, kind == device::OpKind::tile_dma_in, kind == device::OpKind::tile_gemm,
            kind == device::OpKind::tile_dma_out);
  count(c, kind);
  const auto& plan = c.work->plan();
  if (c.work->makes_tile() ? c.products < plan.steps() : c.writes < plan.outputs()) return;
  if (put_off) run_whole(at, c);
  composites_.erase({c.origin, c.command});
}

void ReplayExecutor::Planner::run_whole(const At& at, OpenComposite& c) {
  put_off_.remove(c);
  const auto& work = c.work;
  check_readable(work->a_pieces(), [&] { return place(at); });
  check_readable(work->b_pieces(), [&] { return place(at); });
  make_writable(work->out_pieces());
  const auto ref = window_.add(at.running.strand,
                               [this, at, work](int threads) { work->run(store_, *at.tiles(), threads); });
  window_.touches(ref, work->a_pieces(), false);
  window_.touches(ref, work->b_pieces(), false);
  window_.touches(ref, work->out_pieces(), true);
}

/// Does the records that come next: reads, products and writes after those that `c` has counted.
void ReplayExecutor::Planner::advance(OpenComposite& c, std::int64_t reads, std::int64_t products,
                                      std::int64_t writes) {
  auto& running = *running_[c.origin];
  const At at{c.origin, running, c.command, running.program->command(c.command)};
  Pieces read, written;
  for (std::int64_t i = 0; i < reads; ++i) data::append(read, c.work->read_pieces(c.reads + i));
  for (std::int64_t i = 0; i < writes; ++i) data::append(written, c.work->write_pieces(c.writes + i));
  disturb(read, false);
  disturb(written, true);
  check_readable(read, [&] { return place(at); });
  make_writable(written);
  const auto ref =
      window_.add(running.strand, [this, work = c.work, tiles = &running.tiles, reads, products,
                                   writes](int) { work->advance(store_, *tiles, reads, products, writes); });
  window_.touches(ref, read, false);
  window_.touches(ref, written, true);
}

/// What was put off is done, and the rest will be as its records come.
void ReplayExecutor::Planner::catch_up(OpenComposite& c) {
  put_off_.remove(c);
  c.put_off = false;
  const auto reads = std::exchange(c.reads, 0), products = std::exchange(c.products, 0),
             writes = std::exchange(c.writes, 0);
  advance(c, reads, products, writes);
  c.reads = reads;
  c.products = products;
  c.writes = writes;
}

ReplayExecutor::ReplayExecutor(MemoryStore& store, RunFacts& facts, ReplayOptions options)
    : planner_(std::make_unique<Planner>(store, facts, options)) {}
ReplayExecutor::~ReplayExecutor() = default;

void ReplayExecutor::append(const device::OpRecord& record) { planner_->append(record); }
void ReplayExecutor::depart(const device::Departure& departure) { planner_->depart(departure); }
void ReplayExecutor::finish() { planner_->finish(); }

}  // namespace kernbench::data
