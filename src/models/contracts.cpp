#include "kernbench/testing/model_contracts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <random>
#include <utility>

namespace kernbench::models {
namespace {

constexpr int kRounds = 200;

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }

 private:
  std::mt19937_64 engine_;
};

void check_cycles(Complaints& all, double cycles, double again, const std::string& what) {
  if (!std::isfinite(cycles) || cycles < 0) all.push_back(fmt::format("{} takes {} cycles", what, cycles));
  if (cycles != again)
    all.push_back(
        fmt::format("{} takes {} cycles, then {}: it must depend on nothing else", what, cycles, again));
}

void check_moved(Complaints& all, const Moved& moved, const std::string& what) {
  if (moved.fetch < 0_B || moved.store < 0_B)
    all.push_back(fmt::format("{} moves {} and {} bytes", what, moved.fetch.count(), moved.store.count()));
}

std::string text(const Product& p) { return fmt::format("a product of {} × {} × {}", p.m, p.k, p.n); }

/// As the scheduler streams it.
double tile_by_tile(const MatrixModel& model, const Product& p, const TileShape& tile) {
  const auto end = [](std::int64_t extent) { return std::max<std::int64_t>(extent, 1); };
  double sum = 0;
  bool goes_on = false;
  for (std::int64_t m = 0; m < end(p.m); m += tile.m)
    for (std::int64_t n = 0; n < end(p.n); n += tile.n)
      for (std::int64_t k = 0; k < end(p.k); k += tile.k)
        sum += model.cycles({std::min(tile.m, p.m - m), std::min(tile.k, p.k - k), std::min(tile.n, p.n - n),
                             p.a, p.b, p.out, std::exchange(goes_on, true)});
  return sum;
}

}  // namespace

Complaints broken_promises(const MatrixModel& model) {
  Complaints all;
  const TileShape tile = model.tile();
  if (tile.m < 1 || tile.k < 1 || tile.n < 1)
    return {fmt::format("its tile is {} × {} × {}: every extent is at least 1", tile.m, tile.k, tile.n)};
  for (const DType type : kAllDTypes)
    if (model.peak_macs(type) <= 0)
      all.push_back(
          fmt::format("its peak in {} is {} multiply-adds a cycle", to_string(type), model.peak_macs(type)));
  Dice dice(1);
  for (int i = 0; i < kRounds && all.size() < 8; ++i) {
    constexpr auto kTypes = static_cast<std::int64_t>(kAllDTypes.size());
    const auto type = [&] { return kAllDTypes[static_cast<std::size_t>(dice.pick(0, kTypes - 1))]; };
    const Product p{dice.pick(0, 4 * tile.m), dice.pick(0, 4 * tile.k), dice.pick(0, 4 * tile.n), type(),
                    type()};
    const double cycles = model.cycles(p);
    check_cycles(all, cycles, model.cycles(p), text(p));
    check_moved(all, model.moved(p, {Bytes(2 * p.k * (p.m + p.n)), Bytes(2 * p.m * p.n)}), text(p));
    const auto least = model.at_least(p);
    if (!least) continue;
    const double fastest = std::min(cycles, tile_by_tile(model, p, tile));
    if (*least > fastest * (1 + 1e-9))
      all.push_back(fmt::format("{} takes {} cycles, less than its least, {}", text(p), fastest, *least));
  }
  return all;
}

Complaints broken_promises(const VectorModel& model) {
  Complaints all;
  Dice dice(2);
  for (const MathOpInfo& op : math_ops()) {
    for (int i = 0; i < 20 && all.size() < 8; ++i) {
      const VectorWork work{op.op, dice.pick(0, 5000), dice.pick(0, 1) ? DType::f32 : DType::f16};
      const std::string what = fmt::format("{} of {} elements", op.name, work.elements);
      const double cycles = model.cycles(work);
      check_cycles(all, cycles, model.cycles(work), what);
      check_moved(all, model.moved(work, {Bytes(2 * work.elements), Bytes(2 * work.elements)}), what);
      const auto least = model.at_least(work);
      if (least && *least > cycles * (1 + 1e-9))
        all.push_back(fmt::format("{} takes {} cycles, less than its least, {}", what, cycles, *least));
    }
  }
  return all;
}

namespace {

/// Asks a memory at random times and keeps its answers.
class MemoryTrial : MemoryAnswers {
 public:
  MemoryTrial(const MemoryBehaviour& behaviour, const ParamSet& hbm, unsigned seed)
      : dice_(seed),
        model_(behaviour.make(hbm, {simulation_.partition(0), *this})),
        burst_(hbm.bytes("burst_bytes")),
        next_(*this) {
    simulation_.partition(0).schedule(next_, Time());
    simulation_.run();
  }

  void judge(Complaints& all, const MemoryBehaviour& behaviour, const ParamSet& hbm) const {
    for (const std::string& complaint : complaints_) all.push_back(complaint);
    Time last;
    Bytes bytes;
    for (const Asked& asked : asked_) {
      const auto missing = std::count(asked.through.begin(), asked.through.end(), Time::never());
      if (missing > 0) {
        all.push_back(fmt::format("{} of {} bursts were never answered", missing, asked.through.size()));
        return;
      }
      last = std::max(last, *std::max_element(asked.through.begin(), asked.through.end()));
      bytes += burst_ * static_cast<std::int64_t>(asked.through.size());
    }
    if (behaviour.at_least) judge_bound(all, behaviour.at_least(hbm), bytes, last);
  }
  const auto times() const {
    std::vector<Time> all;
    for (const Asked& asked : asked_) all.insert(all.end(), asked.through.begin(), asked.through.end());
    return all;
  }

 private:
  struct Asked {
    Time at;
    std::vector<Time> through;
  };

  void judge_bound(Complaints& all, const MemoryBound& bound, Bytes bytes, Time last) const {
    for (const Asked& asked : asked_)
      for (const Time through : asked.through)
        if (through - asked.at < bound.access) {
          all.push_back(fmt::format("an access took {}, less than its least, {}",
                                    to_string(through - asked.at), to_string(bound.access)));
          return;
        }
    if (last - asked_.front().at < bound.rate.time_for(bytes))
      all.push_back(fmt::format("{} went through in {}, faster than its rate", to_string(bytes),
                                to_string(last - asked_.front().at)));
  }

  void ask() {
    constexpr std::size_t kRequests = 120;
    if (asked_.size() == kRequests) return;
    sim::Partition& here = simulation_.partition(0);
    const std::int64_t count = dice_.pick(0, 3) ? dice_.pick(1, 40) : 1;
    asked_.push_back({here.now(), std::vector<Time>(static_cast<std::size_t>(count), Time::never())});
    model_->request({.first = dice_.pick(0, 100000),
                     .count = count,
                     .direction = dice_.pick(0, 2) ? Direction::read : Direction::write,
                     .at = here.now(),
                     .issuer = static_cast<std::uint32_t>(dice_.pick(0, 3)),
                     .tag = asked_.size() - 1});
    here.schedule(next_, Time::from_ps(dice_.pick(0, 3) * dice_.pick(0, 40000)));
  }

  void through(std::uint64_t tag, std::int64_t first, std::span<const Time> at) override {
    for (const Time time : at) {
      if (tag >= asked_.size() || first >= static_cast<std::int64_t>(asked_[tag].through.size()) || first < 0)
        return complaints_.push_back(
            fmt::format("it answered burst {} of request {}, which nobody asked for", first, tag));
      Time& slot = asked_[tag].through[static_cast<std::size_t>(first++)];
      if (slot != Time::never()) complaints_.push_back("it answered a burst twice");
      if (time < simulation_.partition(0).now())
        complaints_.push_back("it answered with a time that is past");
      slot = time;
    }
  }

  sim::Simulation simulation_;
  Dice dice_;
  std::unique_ptr<MemoryModel> model_;
  const Bytes burst_;
  std::deque<Asked> asked_;
  Complaints complaints_;
  sim::MemberEvent<&MemoryTrial::ask> next_;
};

/// Nobody asks through `request`.
struct NoAnswers : MemoryAnswers {
  void through(std::uint64_t, std::int64_t, std::span<const Time>) override {}
};

/// A copy does what the memory would have done, and a memory that becomes like its copy does it again.
Complaints broken_copies(const MemoryBehaviour& behaviour, const ParamSet& hbm) {
  sim::Simulation simulation;
  NoAnswers nobody;
  const auto model = behaviour.make(hbm, {simulation.partition(0), nobody});
  PromptMemory* memory = model->prompt();
  const auto copy = memory ? memory->copy() : nullptr;
  if (!copy) return {};
  Dice dice(4);
  Time now;
  for (int i = 0; i < kRounds; ++i) {
    const std::int64_t burst = dice.pick(0, 10000);
    const auto direction = dice.pick(0, 2) ? Direction::read : Direction::write;
    now += Time::from_ps(dice.pick(0, 5000));
    if (memory->channel_of(burst) >= memory->channels())
      return {fmt::format("burst {} has no channel", burst)};
    copy->become(*memory);
    const auto ask = [&](PromptMemory& whom) {
      const Time at = std::max(now, whom.free_at(whom.channel_of(burst)));
      const Time through = whom.serve(burst, direction, at);
      return std::pair(through, whom.taken_by() >= at);
    };
    const auto first = ask(*memory), second = ask(*copy);
    if (first != second) return {"a copy of it answered something else"};
    if (!first.second) return {"it took a burst later than `taken_by` says"};
  }
  return {};
}

}  // namespace

Complaints broken_promises(const MemoryBehaviour& behaviour, const ParamSet& hbm) {
  Complaints all = broken_copies(behaviour, hbm);
  for (unsigned seed = 1; seed <= 20 && all.empty(); ++seed) {
    const MemoryTrial once(behaviour, hbm, seed);
    once.judge(all, behaviour, hbm);
    if (once.times() != MemoryTrial(behaviour, hbm, seed).times())
      all.push_back("asked the same again, it answered something else");
  }
  return all;
}

namespace {

/// A link with random packets: what was chosen, and when it went.
class LinkTrial {
 public:
  LinkTrial(const LinkFactory& make, const ParamSet& params, unsigned seed)
      : dice_(seed), model_(make(params)) {
    for (int i = 0; i < kRounds; ++i) step();
  }
  const Complaints& complaints() const { return complaints_; }
  const std::vector<std::int64_t>& history() const { return history_; }

 private:
  void step() {
    for (std::int64_t n = dice_.pick(waiting_.empty() ? 1 : 0, 3); n > 0; --n) arrive();
    const std::size_t chosen = model_->choose(waiting_, now_);
    if (chosen >= waiting_.size())
      return complaints_.push_back(fmt::format("it chose packet {} of {}", chosen, waiting_.size()));
    const WaitingPacket packet = waiting_[chosen];
    const Passing passing = model_->pass(packet, now_);
    if (passing.busy < packet.occupancy)
      complaints_.push_back(
          fmt::format("a packet of {} ps has the link for {} ps", packet.occupancy.ps(), passing.busy.ps()));
    if (passing.delay < Time()) complaints_.push_back("a packet arrives before its time");
    history_.insert(history_.end(),
                    {static_cast<std::int64_t>(chosen), passing.busy.ps(), passing.delay.ps()});
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(chosen));
    now_ += std::max(passing.busy, Time::from_ps(1));
  }

  void arrive() {
    const Bytes bytes(dice_.pick(1, 256));
    waiting_.push_back({.arrival = now_,
                        .tail = now_ + Time::from_ps(dice_.pick(0, 1000)),
                        .bytes = bytes,
                        .message_bytes = bytes * dice_.pick(1, 100),
                        .occupancy = Time::from_ps(bytes.count() * 2),
                        .traffic = static_cast<int>(dice_.pick(0, 2)),
                        .sender = static_cast<std::uint64_t>(dice_.pick(0, 5))});
  }

  Dice dice_;
  std::unique_ptr<LinkModel> model_;
  std::vector<WaitingPacket> waiting_;
  Time now_;
  Complaints complaints_;
  std::vector<std::int64_t> history_;
};

}  // namespace

Complaints broken_promises(const LinkFactory& make, const ParamSet& params) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const LinkTrial once(make, params, seed);
    if (!once.complaints().empty()) return once.complaints();
    if (once.history() != LinkTrial(make, params, seed).history())
      return {"asked the same again, it chose something else"};
  }
  return {};
}

namespace {

/// The bytes of rows, in order.
std::vector<std::int64_t> bytes_of(const std::vector<DmaRows>& all) {
  std::vector<std::int64_t> bytes;
  for (const DmaRows& rows : all)
    for (std::int64_t r = 0; r < rows.rows; ++r)
      for (std::int64_t b = 0; b < rows.row_bytes; ++b) bytes.push_back(rows.offset + r * rows.stride + b);
  return bytes;
}

}  // namespace

Complaints broken_promises(const DmaModel& model) {
  Complaints all;
  Dice dice(3);
  for (int i = 0; i < kRounds && all.size() < 8; ++i) {
    const std::int64_t row = dice.pick(1, 700);
    const DmaRows piece{dice.pick(0, 5000), row, dice.pick(0, 1) ? 1 : dice.pick(1, 20),
                        row + dice.pick(0, 300)};
    std::vector<DmaRows> requests;
    model.split(piece, requests);
    if (bytes_of(requests) != bytes_of({piece}))
      all.push_back(fmt::format("the requests for {} rows of {} bytes are not the bytes of the transfer",
                                piece.rows, piece.row_bytes));
    for (const DmaRows& request : requests)
      if (!model.may_request({.transfers = 1}, request.bytes()))
        all.push_back(fmt::format("a request of {} bytes is held back with nothing in flight",
                                  request.bytes().count()));
  }
  return all;
}

}  // namespace kernbench::models
