#include "ccl/functional_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <utility>

#include "base/alike.hpp"
#include "base/text.hpp"
#include "data/composite.hpp"
#include "data/compute.hpp"
#include "isa/transfer.hpp"
#include "kernbench/error.hpp"

namespace kernbench::ccl {

using isa::CommandKind;

FunctionalRun::FunctionalRun(const FunctionalWorld& world, const FunctionalOptions& options,
                             FunctionalMemory& memory, const std::vector<isa::Program>& programs)
    : options_(options), memory_(memory) {
  for (const auto& program : programs)
    ranks_.push_back({.program = &program,
                      .tiles = data::LiveTiles(program),
                      .ends = {},
                      .depth = std::vector<std::int64_t>(program.values().size()),
                      .in_slot = {}});
  connect(world);
}

void FunctionalRun::connect(const FunctionalWorld& world) {
  std::map<PeCoord, int> rank_at;
  for (int r = 0; r < count(); ++r) rank_at[world.ranks[static_cast<std::size_t>(r)]] = r;
  for (const auto& link : paired(world.links)) {
    const auto from = rank_at.find(link.pe), to = rank_at.find(link.peer);
    if (from == rank_at.end() || to == rank_at.end())
      throw InputError({"functional.world", to_string(from == rank_at.end() ? link.pe : link.peer),
                        "a link of a PE on which no rank is", "give links between the PEs of the ranks"});
    if (!link.sends) continue;
    rank(from->second).ends[link.direction].out = rings_.size();
    rank(to->second).ends[link.peer_direction].in = rings_.size();
    rings_.push_back({to->second, from->second, link.peer_direction, link.direction, {}, {}, 0, 0, {}});
  }
}

void FunctionalRun::run() {
  bool moved = true;
  while (moved) {
    moved = false;
    for (int r = 0; r < count(); ++r) moved = advance(r) || moved;
  }
  const bool answered =
      options_.asked != nullptr &&
      std::ranges::any_of(*options_.asked, [](const AskedValue& a) { return a.content.elements() > 0; });
  if (!answered && !std::ranges::all_of(ranks_, &Rank::ended)) fail_deadlock();
}

bool FunctionalRun::advance(int r) {
  const auto before = rank(r).next;
  const bool took = take_posted(r);
  while (!rank(r).at_end() && execute(r)) ++rank(r).next;
  return took || rank(r).next != before;
}

/// Whether a message has come that a posted receive can take.
bool FunctionalRun::take_posted(int r) {
  auto& posted = rank(r).posted;
  const auto take = [&](isa::CommandIndex index) { return !posted_before(r, index) && receive(r, index); };
  bool took = false;
  for (std::size_t i = 0; i < posted.size();) {
    if (take(posted[i])) {
      posted.erase(posted.begin() + static_cast<std::ptrdiff_t>(i));
      took = true;
    } else {
      ++i;
    }
  }
  return took;
}

/// Whether the command must wait for a receive that was posted before it: it reads the tile, waits for the receive, takes
/// a later message from the same direction, or touches the bytes to which the tile goes.
bool FunctionalRun::needs(int r, isa::CommandIndex index, isa::CommandIndex posted) const {
  const auto& program = *rank(r).program;
  const auto& c = program.command(index);
  const auto& receive = program.command(posted);
  const auto reads_it = [&](isa::ValueId id) { return program.base(id) == receive.result; };
  if (c.kind == CommandKind::fence || std::ranges::any_of(program.reads(c), reads_it)) return true;
  if (c.kind == CommandKind::wait) return program.waited(c) == posted;
  if (c.kind == CommandKind::ipcq_recv && direction_of(r, index) == program.direction(receive)) return true;
  std::array<isa::Access, 3> touched, written;
  const auto count = static_cast<std::size_t>(accesses(program, c, touched));
  if (accesses(program, receive, written) == 0) return false;
  return std::ranges::any_of(std::span(touched).first(count), [&](const isa::Access& a) {
    return a.begin < written[0].end && written[0].begin < a.end;
  });
}

/// The first posted receive that this command must wait for.
std::optional<isa::CommandIndex> FunctionalRun::posted_before(int r, isa::CommandIndex index) const {
  const auto& me = rank(r);
  for (const auto posted : me.posted)
    if (posted < index && needs(r, index, posted)) return posted;
  return std::nullopt;
}

/// False if the command must wait.
bool FunctionalRun::execute(int r) {
  auto& me = rank(r);
  const auto& c = me.program->command(me.next);
  const bool held = posted_before(r, me.next).has_value();
  if (c.kind == CommandKind::ipcq_recv) {
    if (!held && receive(r, me.next)) return true;
    if (me.program->is_async(c)) me.posted.push_back(me.next);
    return me.program->is_async(c);
  }
  if (held) return false;
  if (c.kind == CommandKind::ipcq_send) {
    if (!send(r, c)) return false;
  } else {
    perform(r, c);
  }
  retire(r, c);
  return true;
}

// Waits, fences and scalars, which were read while recording, have nothing left to do in program order.
void FunctionalRun::perform(int r, const isa::Command& c) {
  auto& me = rank(r);
  const auto& program = *me.program;
  const auto deepest = [&](isa::ValueId id) {
    return program.value(id).producer == isa::kNone ? 0 : me.depth[program.base(id)];
  };
  if (c.result != isa::kNone)
    for (const auto id : program.reads(c)) me.depth[c.result] = std::max(me.depth[c.result], deepest(id));
  if (c.kind == CommandKind::dma_read) {
    me.tiles.put(c.result,
                 loaded(memory_.store(), program, c, memory_.of_dma(program, c, access(r, me.next))));
  } else if (c.kind == CommandKind::dma_write) {
    copy_in(memory_.store(), memory_.of_dma(program, c, access(r, me.next)),
            me.tiles.operand(c.read[0]).bytes());
  } else if (c.kind == CommandKind::atomic) {
    const auto pieces = memory_.of_dma(program, c, access(r, me.next));
    const auto content = combined(memory_.store(), me.tiles, program, c, pieces);
    copy_in(memory_.store(), pieces,
            {content.get(), static_cast<std::size_t>(program.bytes(c.read[0]).count())});
  } else if (c.kind == CommandKind::gemm || c.kind == CommandKind::math) {
    data::Buffer content = compute(me.tiles, program, c, 1);
    if (options_.asked != nullptr) answer(r, c, content);
    me.tiles.put(c.result, std::move(content));
  } else if (c.kind == CommandKind::composite) {
    const auto& spec = program.composite(c);
    const auto pieces = [&](isa::ValueId id) {
      const bool in_memory = program.value(id).kind == isa::ValueKind::reference;
      return in_memory ? memory_.of_reference(program, id, access(r, me.next)) : data::Pieces();
    };
    data::Composite(program, c, {}, pieces(spec.a), pieces(spec.b), pieces(spec.out))
        .run(memory_.store(), me.tiles, 1);
  }
}

void FunctionalRun::answer(int r, const isa::Command& c, const data::Buffer& content) {
  for (AskedValue& asked : *options_.asked) {
    if (asked.rank != r || asked.value != c.result) continue;
    const auto& program = *rank(r).program;
    asked.content = NdArray(program.value(c.result).dtype, program.shape(c.result));
    std::ranges::copy_n(content.get(), program.bytes(c.result).count(), asked.content.bytes().begin());
  }
}

bool FunctionalRun::send(int r, const isa::Command& c) {
  auto& me = rank(r);
  auto& ring = rings_[me.ends.find(me.program->direction(c))->second.out];
  if (options_.slots && std::ssize(ring.in_use) >= *options_.slots) return false;
  const auto id = c.read[0];
  const bool in_memory = me.program->value(id).kind == isa::ValueKind::reference;
  const auto depth = (in_memory ? 0 : me.depth[me.program->base(id)]) + 1;
  const Bytes size = me.program->bytes(id);
  ring.messages.push_back({content(r, id), size, depth, r, me.next});
  ring.in_use.push_back(true);
  ring.sent += size;
  ++messages_;
  bytes_ += size;
  rounds_ = std::max(rounds_, depth);
  return true;
}

data::Buffer FunctionalRun::content(int r, isa::ValueId sent) {
  auto& me = rank(r);
  if (me.program->value(sent).kind != isa::ValueKind::reference) {
    const auto value = me.tiles.operand(sent);
    return data::Buffer(value.keep, const_cast<std::byte*>(value.array.data));
  }
  const Bytes size = me.program->bytes(sent);
  auto buffer = data::new_buffer(size);
  copy_out(memory_.store(), memory_.of_reference(*me.program, sent, access(r, me.next)),
           {buffer.get(), static_cast<std::size_t>(size.count())});
  return buffer;
}

std::string_view FunctionalRun::direction_of(int r, isa::CommandIndex index) const {
  const auto& me = rank(r);
  const auto direction = me.program->direction(me.program->command(index));
  if (!direction.empty()) return direction;
  const auto order = options_.any_order.find(r);
  if (order == options_.any_order.end()) return next_in_turn(me);
  if (me.any_received >= order->second.size())
    throw InputError({"functional.any-order", place(r, index),
                      fmt::format("this is recv_any {} of rank {}, but any_order names {} directions",
                                  me.any_received + 1, r, order->second.size()),
                      fmt::format("give the directions it takes as any_order[{}]", r)});
  return order->second[me.any_received];
}

/// Directions take turns, beginning after the one that was taken from last; those without a message are passed over. Where
/// none has one, it is the first of them that is waited for.
std::string_view FunctionalRun::next_in_turn(const Rank& me) const {
  std::vector<std::string_view> order;
  for (const auto& [direction, ends] : me.ends)
    if (ends.in != kNoRing) order.push_back(direction);
  std::ranges::rotate(order, std::ranges::upper_bound(order, me.last_any));
  const auto has_message = [&](std::string_view direction) {
    return !rings_[me.ends.find(direction)->second.in].messages.empty();
  };
  const auto found = std::ranges::find_if(order, has_message);
  return found != order.end() ? *found : order.front();
}

bool FunctionalRun::receive(int r, isa::CommandIndex index) {
  auto& me = rank(r);
  const auto direction = direction_of(r, index);
  const auto end = me.ends.find(direction);
  if (end == me.ends.end() || end->second.in == kNoRing)
    throw InputError({"functional.any-order", place(r, index),
                      fmt::format("any_order names '{}', from which this rank does not receive", direction),
                      "name directions of its links"});
  auto& ring = rings_[end->second.in];
  if (ring.messages.empty()) return false;
  if (me.program->direction(me.program->command(index)).empty()) {
    ++me.any_received;
    me.last_any = direction;
  }
  deliver(r, index, ring);
  return true;
}

void FunctionalRun::deliver(int r, isa::CommandIndex index, Ring& ring) {
  auto& me = rank(r);
  const auto& c = me.program->command(index);
  const auto message = std::move(ring.messages.front());
  ring.messages.pop_front();
  const auto number = ring.received++;
  const Bytes size = me.program->bytes(c.result);
  if (size != message.size)
    throw SimulationError(
        {.id = "functional.message",
         .where = place(r, index),
         .what = fmt::format("receives a tile of {}, but {} was sent by {}", to_string(size),
                             to_string(message.size), place(message.sender, message.command)),
         .hint = "send and receive the same shape and dtype"});
  const bool moved = me.program->has_destination(c);
  if (moved)
    copy_in(memory_.store(), memory_.of_range(me.program->address(c), size, access(r, index)),
            {message.content.get(), static_cast<std::size_t>(size.count())});
  me.tiles.put(c.result, message.content);
  me.depth[c.result] = message.depth;
  const auto readers = me.program->value(c.result).readers;
  if (options_.in_slot && !moved && readers > 0)
    me.in_slot[c.result] = {static_cast<std::size_t>(&ring - rings_.data()), number, readers};
  else
    free_slot(ring, number);
}

/// Slots are filled in turn, so a free one behind one in use is of no use yet.
void FunctionalRun::free_slot(Ring& ring, std::uint64_t number) {
  ring.in_use[number - ring.first_in_use] = false;
  for (; !ring.in_use.empty() && !ring.in_use.front(); ++ring.first_in_use) ring.in_use.pop_front();
}

void FunctionalRun::retire(int r, const isa::Command& c) {
  auto& me = rank(r);
  if (c.kind != CommandKind::composite) me.tiles.retire(c);  // which has done so itself
  const auto reads = me.program->reads(c);
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const auto base = me.program->base(reads[i]);
    const auto same = [&](isa::ValueId other) { return me.program->base(other) == base; };
    const auto held = me.in_slot.find(base);
    if (held == me.in_slot.end() || std::ranges::any_of(reads.first(i), same)) continue;
    if (--held->second.readers_left > 0) continue;
    free_slot(rings_[held->second.ring], held->second.number);
    me.in_slot.erase(held);
  }
}

FunctionalMemory::Access FunctionalRun::access(int r, isa::CommandIndex index) const {
  return {r, [this, r, index] { return place(r, index); }};
}

void FunctionalRun::report(FunctionalResult& result) const {
  result.messages = messages_;
  result.bytes = bytes_;
  result.rounds = rounds_;
  for (const auto& ring : rings_) {
    result.busiest_link = std::max(result.busiest_link, ring.sent);
    for (const auto& m : ring.messages)
      result.unread.push_back(fmt::format("rank {} never received from {} what {} sent", ring.receiver,
                                          ring.direction, place(m.sender, m.command)));
  }
}

// ── who waits for whom ──

std::string FunctionalRun::rank_text(int r) const {
  return fmt::format("rank {} ({})", r, to_string(rank(r).program->pe()));
}

std::string FunctionalRun::place(int r, isa::CommandIndex command) const {
  const auto& program = *rank(r).program;
  const auto& c = program.command(command);
  return fmt::format("kernel '{}', {}, {} at {}", program.kernel(), rank_text(r), to_string(c.kind),
                     to_string(program.line(c)));
}

/// The send or receive that a rank which has not ended waits for.
isa::CommandIndex FunctionalRun::waits_at(int r) const {
  const auto& me = rank(r);
  return me.at_end() ? me.posted.front() : posted_before(r, me.next).value_or(me.next);
}

/// What a rank that has not ended waits for: a message in this ring, or a free slot of it.
const FunctionalRun::Ring& FunctionalRun::awaited(int r) const {
  const auto& c = rank(r).program->command(waits_at(r));
  const auto ends = rank(r).ends.find(direction_of(r, waits_at(r)))->second;
  return rings_[c.kind == CommandKind::ipcq_send ? ends.out : ends.in];
}

int FunctionalRun::waits_for(int r) const {
  const auto& ring = awaited(r);
  return ring.sender == r ? ring.receiver : ring.sender;
}

std::string FunctionalRun::waiting_text(int r) const {
  const auto& me = rank(r);
  if (me.ended()) return fmt::format("{} has ended", rank_text(r));
  const auto& ring = awaited(r);
  const auto unread = static_cast<std::int64_t>(ring.messages.size());
  const auto what =
      ring.sender == r
          ? fmt::format("send {} for a free slot at rank {} ({} unread, {} held by live tiles)",
                        ring.sender_direction, ring.receiver, unread, std::ssize(ring.in_use) - unread)
          : fmt::format("{} {} for a message of rank {}",
                        me.program->is_async(me.program->command(waits_at(r))) ? "recv_async" : "recv",
                        ring.direction, ring.sender);
  const auto line = to_string(me.program->line(me.program->command(waits_at(r))));
  return fmt::format("{} waits at {}: {}", rank_text(r), line, what);
}

/// Ranks of which each waits for the next, and the last for the first.
std::vector<int> FunctionalRun::cycle() const {
  std::vector<int> walked(ranks_.size(), -1);  // from which start
  for (int start = 0; start < count(); ++start) {
    std::vector<int> path;
    int r = start;
    for (; !rank(r).ended() && walked[static_cast<std::size_t>(r)] < 0; r = waits_for(r)) {
      walked[static_cast<std::size_t>(r)] = start;
      path.push_back(r);
    }
    const auto begin = std::ranges::find(path, r);
    if (begin != path.end()) return {begin, path.end()};
  }
  return {};
}

/// What ranks wait for: of few each, of many one for all that wait at the same line and direction.
std::vector<std::string> FunctionalRun::waiting_lines(const std::vector<int>& waiting) const {
  const auto way_of = [&](int r) {
    if (waiting.size() <= kShown) return std::to_string(r);
    const auto& c = rank(r).program->command(waits_at(r));
    return fmt::format("{} {} {}", to_string(rank(r).program->line(c)), to_string(c.kind),
                       direction_of(r, waits_at(r)));
  };
  std::vector<std::string> lines;
  for (const auto& ranks : alike(waiting, way_of)) {
    auto& line = lines.emplace_back(waiting_text(ranks.front()));
    if (ranks.size() > 1)
      line += fmt::format("; there wait {} more: {}", ranks.size() - 1, numbers(std::span(ranks).subspan(1)));
  }
  if (lines.size() <= kShown) return lines;
  const auto more = lines.size() - kShown;
  lines.resize(kShown);
  lines.push_back(fmt::format("and {} more", more));
  return lines;
}

std::string FunctionalRun::cycle_text(const std::vector<int>& cycle) {
  const std::span shown(cycle.data(), std::min(cycle.size(), kShown));
  const auto rest = cycle.size() > kShown ? fmt::format(" → … ({} ranks)", cycle.size()) : "";
  return fmt::format("in a cycle: ranks {}{}", join(shown, " → "), rest);
}

void FunctionalRun::fail_deadlock() const {
  std::vector<int> waiting;
  std::set<int> gone;
  for (int r = 0; r < count(); ++r) {
    if (rank(r).ended()) continue;
    waiting.push_back(r);
    if (rank(waits_for(r)).ended()) gone.insert(waits_for(r));
  }
  auto lines = waiting_lines(waiting);
  const std::vector<int> ended(gone.begin(), gone.end());
  if (ended.size() > kShown) lines.push_back(fmt::format("ranks {} have ended", numbers(ended)));
  for (const int r : std::span(ended).first(ended.size() > kShown ? 0 : ended.size()))
    lines.push_back(waiting_text(r));
  if (const auto ring = cycle(); !ring.empty()) lines.push_back(cycle_text(ring));
  throw SimulationError(
      {.id = "functional.deadlock",
       .where = fmt::format("kernel '{}'", options_.kernel),
       .what = fmt::format("no rank can go on\n  {}", join(lines, "\n  ")),
       .hint = "every receive needs a send of its peer; with few slots, receive between sends"});
}

}  // namespace kernbench::ccl
