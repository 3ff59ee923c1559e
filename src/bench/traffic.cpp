#include "bench/traffic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "device/pool.hpp"
#include "kernbench/error.hpp"
#include "kernbench/torch.hpp"

namespace kernbench::bench {

using device::Fabric;
using device::Message;
using topology::Graph;
using topology::NodeId;
using topology::NodeKind;

namespace {

/// The same numbers on every computer (SplitMix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  /// 0 … n − 1.
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(next() % n); }
  /// Whether something happens that does with this probability.
  bool happens(double probability) {
    return static_cast<double>(next() >> 11) < probability * 9007199254740992.0;  // 2⁵³
  }

 private:
  std::uint64_t state_;
};

constexpr int kMostToWarmUp = 8, kMostToMeasure = 32;  // intervals
constexpr int kLeastToMeasure = 2;
constexpr double kWarm = 0.05, kStable = 0.01;  // of the mean

/// The mean of what has been added.
struct Mean {
  double sum = 0;
  std::int64_t count = 0;
  void add(Time time) { sum += static_cast<double>(time.ps()), ++count; }
  double value() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
};

/// Two means that differ by this share at most. Without a message there is none.
bool is_near(double now, double before, double share) {
  return now > 0 && before > 0 && std::abs(now - before) <= share * before;
}

[[noreturn]] void refuse(const std::string& what, const std::string& hint) {
  throw InputError({"traffic.pattern", "traffic", what, hint});
}

}  // namespace

/// What one load did.
struct Traffic::Measured {
  Time begin = Time::never(), end = Time::never();  // messages made from `begin` on and before `end` count
  std::vector<std::int64_t> latencies;              // ps, of those that have arrived
  Mean recent;                                      // of all messages that arrived in this interval
  Mean running;                                     // of those that count
  Bytes offered, accepted;
};

/// A message under way, which says how long it took.
class Traffic::Shot final : public Message {
 public:
  Shot* next = nullptr;
  Traffic* traffic = nullptr;
  Measured* measured = nullptr;
  device::Pool<Shot>* home = nullptr;
  Time made;

 private:
  void on_delivered() override {
    const Time now = route->first().fabric->partition_of(route->to).now();
    if (now >= measured->begin && now < measured->end) measured->accepted += bytes;
    measured->recent.add(now - made);
    if (made >= measured->begin && made < measured->end) {
      measured->running.add(now - made);
      measured->latencies.push_back((now - made).ps());
    }
    ++traffic->arrived_;
    if (now - made < route->latency + route->pace.bandwidth().time_for(bytes)) ++traffic->too_fast_;
    home->give_back(*this);
  }
};

/// Makes the messages of a node: in each slot, the time of a message at the full rate, one with the probability that is the load.
class Traffic::Sender {
 public:
  Sender(Traffic& all, int node, double load, Measured& measured, device::Pool<Shot>& shots)
      : all_(all),
        from_(all.nodes_[static_cast<std::size_t>(node)]),
        targets_(all.targets_of(node)),
        is_drawn_(all.spec_.pattern == Pattern::hotspot && node != all.hot_spot()),
        load_(load),
        random_(all.spec_.seed * 1'000'003 + static_cast<std::uint64_t>(node)),
        fabric_(all.device_.fabric()),
        partition_(fabric_.partition_of(from_.from.front())),
        slot_(all.rate_.time_for(all.spec_.message)),
        measured_(measured),
        shots_(shots),
        next_(*this) {}

  bool sends() const { return !targets_.empty(); }
  void begin(Time at) { schedule(at); }
  void end() { partition_.cancel(next_); }

 private:
  /// The next slot from `at` on in which it makes a message.
  void schedule(Time at) {
    while (!random_.happens(load_)) at += slot_;
    partition_.schedule_at(next_, at);
  }

  void make() {
    const Time now = partition_.now();
    Shot& shot = shots_.take();
    shot.traffic = &all_;
    shot.measured = &measured_;
    shot.home = &shots_;
    shot.made = now;
    shot.bytes = all_.spec_.message;
    shot.followed = false;
    const TrafficNode& to = all_.nodes_[static_cast<std::size_t>(target())];
    shot.route =
        &fabric_.route(from_.from[random_.below(from_.from.size())], to.to[random_.below(to.to.size())]);
    if (now >= measured_.begin) measured_.offered += shot.bytes;
    ++all_.made_;
    fabric_.send(shot);
    schedule(now + slot_);
  }

  int target() {
    const bool hot = is_drawn_ && random_.happens(all_.spec_.hot_share);
    return hot ? all_.hot_spot() : targets_[random_.below(targets_.size())];
  }

  Traffic& all_;
  const TrafficNode& from_;
  const std::vector<int> targets_;
  const bool is_drawn_;  // to the hot spot
  const double load_;
  Random random_;
  Fabric& fabric_;
  sim::Partition& partition_;
  const Time slot_;
  Measured& measured_;
  device::Pool<Shot>& shots_;
  sim::MemberEvent<&Sender::make> next_;
};

Traffic::Traffic(device::Device& device, const TrafficSpec& spec) : device_(device), spec_(spec) {
  spec_.over_cubes ? find_cubes() : find_routers();
  check();
  find_hot_spot();
}

void Traffic::find_hot_spot() {
  const auto from_middle = [&](const TrafficNode& node) {
    const int x = 2 * node.x - (w_ - 1), y = 2 * node.y - (h_ - 1);
    return x * x + y * y;
  };
  const auto nearest = std::ranges::min_element(nodes_, {}, from_middle);
  hot_spot_ = static_cast<int>(nearest - nodes_.begin());
}

void Traffic::find_routers() {
  const Graph& graph = device_.graph();
  const ParamSet& routers = device_.machine().at("cube.routers");
  w_ = static_cast<int>(routers.integer("cols"));
  h_ = static_cast<int>(routers.integer("rows"));
  rate_ = routers.bandwidth("bw_gbs");
  for (int y = 0; y < h_; ++y)
    for (int x = 0; x < w_; ++x) {
      if (!graph.has_router(y, x)) continue;
      const NodeId router = graph.router({spec_.sip, spec_.cube}, y, x);
      nodes_.push_back({x, y, {router}, {router}});
    }
}

void Traffic::find_cubes() {
  const Graph& graph = device_.graph();
  const ParamSet& ucie = device_.machine().at("cube.ucie");
  w_ = graph.cube_mesh().x;
  h_ = graph.cube_mesh().y;
  rate_ = Bandwidth::from_gbs(ucie.number("bw_gbs") * static_cast<double>(ucie.integer("connections")));
  for (int cube = 0; cube < graph.cubes(); ++cube) {
    const MeshCoord at = MeshCoord::of(cube, w_);
    TrafficNode node{at.x, at.y, {}, {}};
    for (int pe = 0; pe < graph.pes(); ++pe) {
      node.from.push_back(graph.pe({spec_.sip, cube, pe}, NodeKind::pe_tcm));
      node.to.push_back(node.from.back());
    }
    nodes_.push_back(std::move(node));
  }
}

void Traffic::check() const {
  if (nodes_.size() < 2)
    refuse("traffic needs two places at least", "a machine of more cubes, or over=routers");
  if (spec_.pattern == Pattern::transpose && w_ != h_)
    refuse(fmt::format("a grid of {} × {} has no transpose", w_, h_),
           "choose another pattern, or a square grid");
}

/// Where a node's messages go. None: it does not send.
std::vector<int> Traffic::targets_of(int node) const {
  const TrafficNode& at = nodes_[static_cast<std::size_t>(node)];
  const auto only = [&](int x, int y) -> std::vector<int> {
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (nodes_[i].x == x && nodes_[i].y == y && static_cast<int>(i) != node) return {static_cast<int>(i)};
    return {};  // itself, or a place that the grid leaves out
  };
  switch (spec_.pattern) {
    case Pattern::uniform:
    case Pattern::hotspot:
      break;
    case Pattern::transpose:
      return only(at.y, at.x);
    case Pattern::neighbour:
      return only((at.x + 1) % w_, at.y);
    case Pattern::complement:
      return only(w_ - 1 - at.x, h_ - 1 - at.y);
  }
  std::vector<int> all;
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i)
    if (i != node) all.push_back(i);
  return all;
}

/// How long the longest way takes in an idle machine.
Time Traffic::longest_way() const {
  const Graph& graph = device_.graph();
  Time longest;
  for (const TrafficNode& from : nodes_)
    for (const TrafficNode& to : nodes_)
      longest = std::max(longest, graph.latency(graph.route(from.from.front(), to.to.back())));
  return longest;
}

/// By the routes of all pairs and how often each is taken.
double Traffic::demand() const {
  const Graph& graph = device_.graph();
  const ParamSet& fabric = device_.machine().at("fabric");
  const Bytes payload = fabric.bytes("packet_bytes");
  const std::int64_t packets = (spec_.message.count() + payload.count() - 1) / payload.count();
  const Bytes wire = spec_.message + fabric.bytes("header_bytes") * packets;
  std::vector<double> messages(graph.link_count());  // on each link, for one that every node sends
  const auto add = [&](const TrafficNode& from, const TrafficNode& to, double share) {
    share /= static_cast<double>(from.from.size() * to.to.size());
    for (const NodeId a : from.from)
      for (const NodeId b : to.to)
        for (const topology::LinkId link : graph.route(a, b)) messages[link.index] += share;
  };
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
    const TrafficNode& from = nodes_[static_cast<std::size_t>(i)];
    const std::vector<int> targets = targets_of(i);
    const bool is_drawn = spec_.pattern == Pattern::hotspot && i != hot_spot();
    if (is_drawn) add(from, nodes_[static_cast<std::size_t>(hot_spot())], spec_.hot_share);
    for (const int target : targets)
      add(from, nodes_[static_cast<std::size_t>(target)],
          (is_drawn ? 1 - spec_.hot_share : 1) / static_cast<double>(targets.size()));
  }
  double most = 0;
  for (std::size_t link = 0; link < messages.size(); ++link)
    most = std::max(most, messages[link] / graph.link({static_cast<std::uint32_t>(link)}).bandwidth.gbs());
  return most * static_cast<double>(wire.count()) / rate_.time_for(spec_.message).ns();
}

/// Runs every event up to an instant.
void Traffic::proceed(Time until) {
  sim::Simulation& simulation = device_.simulation();
  if (simulation.run({.until = until, .threads = 1, .interrupt = spec_.interrupt}) !=
      sim::Outcome::interrupted)
    return;
  const Time at = simulation.now();
  simulation.reset();  // its events are messages and senders, which go now
  throw runtime::Interrupted(
      {"runtime.interrupted", "", fmt::format("the run was stopped at {}", to_string(at)), ""});
}

/// Whether two intervals, one after the other, had about the same mean.
bool Traffic::warm_up(Measured& measured, Time interval) {
  const Time now = device_.simulation().now();
  double before = 0;
  for (int i = 1; i <= kMostToWarmUp; ++i) {
    measured.recent = {};
    proceed(now + interval * i);
    const double mean = measured.recent.value();
    if (is_near(mean, before, kWarm)) return true;
    before = mean;
  }
  return false;
}

/// Whether the running mean has come to rest. It never does where messages pile up.
bool Traffic::measure(Measured& measured, Time interval, bool warm) {
  measured.begin = device_.simulation().now() + Time::from_ps(1);  // all events of this instant are past
  double before = 0;
  for (int i = 1; i <= kMostToMeasure; ++i) {
    proceed(measured.begin + interval * i - Time::from_ps(1));
    const double mean = measured.running.value();
    const auto accepted = static_cast<double>(measured.accepted.count());
    const bool keeps_up = accepted >= kKeepsUp * static_cast<double>(measured.offered.count());
    if (i >= kLeastToMeasure && !(warm && keeps_up)) return false;
    if (is_near(mean, before, kStable)) return true;
    before = mean;
  }
  return false;
}

TrafficPoint Traffic::run(double load) {
  sim::Simulation& simulation = device_.simulation();
  const Time slot = rate_.time_for(spec_.message);
  const auto slots = static_cast<std::int64_t>(static_cast<double>(spec_.messages) / load / 2) + 1;
  // The fabric must fill, and what enters it must have time to leave.
  const Time interval = std::max(slot * slots, longest_way() * 4);
  Measured measured;
  device::Pool<Shot> shots;
  std::vector<std::unique_ptr<Sender>> senders;
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
    auto sender = std::make_unique<Sender>(*this, i, load, measured, shots);
    if (!sender->sends()) continue;
    sender->begin(simulation.now());
    senders.push_back(std::move(sender));
  }
  const bool warm = warm_up(measured, interval);
  const bool stable = measure(measured, interval, warm);
  measured.end = simulation.now() + Time::from_ps(1);
  for (const auto& sender : senders) sender->end();
  proceed(Time::never());
  TrafficPoint point{
      .load = load, .messages = static_cast<std::int64_t>(measured.latencies.size()), .stable = stable};
  const double per_node = (measured.end - measured.begin).ns() * static_cast<double>(senders.size());
  point.offered_gbs = static_cast<double>(measured.offered.count()) / per_node;
  point.accepted_gbs = static_cast<double>(measured.accepted.count()) / per_node;
  auto& all = measured.latencies;
  if (all.empty()) return point;
  std::sort(all.begin(), all.end());
  point.mean_ns = measured.running.value() / 1e3;
  point.most_ns = static_cast<double>(all.back()) / 1e3;
  point.p99_ns = static_cast<double>(all[all.size() * 99 / 100]) / 1e3;
  return point;
}

}  // namespace kernbench::bench
