// What random traffic is made of: messages and uses of ports that remember every time they can be asked for.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "device/fabric_world.hpp"
#include "seeds.hpp"

namespace kernbench::device::testing {

using kernbench::testing::seeds;

class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  int pick(int low, int high) { return std::uniform_int_distribution(low, high)(engine_); }
  int pick(std::initializer_list<int> all) { return all.begin()[pick(0, static_cast<int>(all.size()) - 1)]; }

 private:
  std::mt19937 engine_;
};

/// A message that remembers when each of its packets came, however that was told.
class Tracked final : public Message {
 public:
  Tracked(Fabric& fabric, sim::Simulation& simulation)
      : fabric_(fabric), simulation_(simulation), start_(*this) {}

  void send_at(Time at) { simulation_.partition(route->partition).schedule_at(start_, at); }
  /// When it left, when it was delivered, when each packet's last byte was there.
  std::vector<std::int64_t> times() const {
    std::vector<std::int64_t> all = {left_.ps(), delivered_.ps()};
    for (const auto& [packet, tail] : tails_) all.push_back(tail.ps());
    for (const Run& run : runs_)
      for (std::int64_t p = run.first; p < run.end; ++p) all.push_back(run_tail(run, p).ps());
    std::sort(all.begin() + 2, all.end());
    return all;
  }

 private:
  void start() { fabric_.send(*this); }
  void on_left() override { left_ = simulation_.partition(route->partition).now(); }
  void on_delivered() override { delivered_ = simulation_.partition(route->last_partition).now(); }
  void on_packet(std::int64_t packet, Time tail) override { tails_[packet] = tail; }
  void on_run(const Run& run) override { runs_.push_back(run); }
  void on_run_cut(std::int64_t from, std::int64_t end) override {
    for (Run& run : runs_)
      if (run.end == end) run.end = from;
  }

  Fabric& fabric_;
  sim::Simulation& simulation_;
  sim::MemberEvent<&Tracked::start> start_;
  Time left_ = Time::never();
  Time delivered_ = Time::never();
  std::map<std::int64_t, Time> tails_;
  std::vector<Run> runs_;
};

/// A fetch or a store of an engine: takes a TCM's port at some time.
class Use {
 public:
  Use(sim::Partition& partition, Route* read, Port* write, Time duration, int rank, Time turn = Time::never())
      : partition_(partition),
        read_(read),
        write_(write),
        duration_(duration),
        rank_(rank),
        turn_(turn),
        start_(*this),
        done_(*this) {}
  void start_at(Time at) { partition_.schedule_at(start_, at); }
  Time ended = Time::never();

 private:
  void start() {
    if (write_)
      write_->occupy({duration_, &done_, rank_});
    else
      read_->source->take_turn({duration_, &done_, rank_, turn_});
  }
  void end() { ended = partition_.now(); }

  sim::Partition& partition_;
  Route* read_;
  Port* write_;
  Time duration_;
  int rank_;
  Time turn_;
  sim::MemberEvent<&Use::start> start_;
  sim::MemberEvent<&Use::end> done_;
};

/// Everything that can be observed of them, with looks at the links at these times.
inline std::vector<std::int64_t> observed(World& world, int threads, std::initializer_list<Time> looks,
                                          const std::vector<std::unique_ptr<Tracked>>& messages,
                                          const std::vector<std::unique_ptr<Use>>& uses) {
  std::vector<std::int64_t> all;
  for (const Time until : looks) {
    world.simulation.run({.until = until, .threads = threads});
    for (std::uint32_t i = 0; i < world.graph.link_count(); ++i) {
      const LinkUse use = world.fabric.use({i});
      all.push_back(use.bytes.count());
      all.push_back(use.deepest_wait.ps());
      all.push_back(use.note.overhead.count());
      all.push_back(static_cast<std::int64_t>(use.note.crowded));
      all.push_back(use.note.stalled.ps());
    }
  }
  for (const auto& message : messages) {
    const auto times = message->times();
    all.insert(all.end(), times.begin(), times.end());
  }
  for (const auto& use : uses) all.push_back(use->ended.ps());
  return all;
}

}  // namespace kernbench::device::testing
