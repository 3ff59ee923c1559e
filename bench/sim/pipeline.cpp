// pipeline: 64 chains of 8 stages; a stage takes an item from its FIFO of 16, works 5 ns and passes it on. A
// source feeds each chain every 5 ns. Unit: a hop, that is an item through a stage.
#include <kernbench/sim.hpp>

#include <array>
#include <deque>

#include "workload.hpp"

namespace kernbench::bench {

namespace {

constexpr int kChains = 64;
constexpr int kStages = 8;
constexpr int kItems = 250;  // per chain
constexpr int kDepth = 16;
constexpr Time kStep = 5_ns;
constexpr std::int64_t kHops = std::int64_t{kChains} * kStages * kItems;

struct Sink {
  std::uint64_t checksum = 0;
  void take(Time now, int item) {
    checksum += static_cast<std::uint64_t>(now.ps()) ^ static_cast<std::uint64_t>(item);
  }
};

using Queue = sim::Fifo<int>;

sim::Process source(Queue& out, int chain) {
  for (int i = 0; i < kItems; ++i) {
    co_await out.put(chain * kItems + i);
    co_await sim::delay(kStep);
  }
}

sim::Process stage(Queue& in, Queue& out) {
  while (true) {
    const int item = co_await in.get();
    co_await sim::delay(kStep);
    co_await out.put(item);
  }
}

sim::Process last_stage(sim::Partition& here, Queue& in, Sink& sink) {
  while (true) {
    const int item = co_await in.get();
    co_await sim::delay(kStep);
    sink.take(here.now(), item);
  }
}

struct BareStage : sim::Event {
  BareStage(sim::EventQueue& queue_, Sink& sink_) : Event(&done), queue(queue_), sink(sink_) {}

  bool accept(int item) {
    if (size == kDepth) return false;
    ring[static_cast<std::size_t>((head + size++) % kDepth)] = item;
    if (!busy) start();
    return true;
  }
  void start() {
    if (size == 0) return;
    current = ring[static_cast<std::size_t>(head)];
    head = (head + 1) % kDepth;
    --size;
    busy = true;
    queue.push(*this, queue.now() + kStep);
    if (before != nullptr && before->blocked) before->deliver();
  }
  void deliver() {
    if (next == nullptr) sink.take(queue.now(), current);
    blocked = next != nullptr && !next->accept(current);
    if (blocked) return;
    busy = false;
    start();
  }
  static void done(Event& e) { static_cast<BareStage&>(e).deliver(); }

  sim::EventQueue& queue;
  Sink& sink;
  BareStage* before = nullptr;
  BareStage* next = nullptr;
  std::array<int, kDepth> ring{};
  int head = 0;
  int size = 0;
  int current = 0;
  bool busy = false;
  bool blocked = false;
};

struct BareSource : sim::Event {
  BareSource(sim::EventQueue& queue_, BareStage& first_, int item_)
      : Event(&emit), queue(queue_), first(first_), item(item_), end(item_ + kItems) {}

  static void emit(Event& e) {
    auto& self = static_cast<BareSource&>(e);
    if (self.item < self.end && self.first.accept(self.item)) ++self.item;
    if (self.item < self.end) self.queue.push(self, self.queue.now() + kStep);
  }

  sim::EventQueue& queue;
  BareStage& first;
  int item;
  int end;
};

}  // namespace

Result pipeline() {
  sim::Simulation simulation;
  sim::Partition& here = simulation.partition();
  Sink sink;
  std::deque<Queue> queues;
  for (int chain = 0; chain < kChains; ++chain) {
    Queue* in = &queues.emplace_back(here, kDepth);
    here.spawn(source(*in, chain));
    for (int i = 1; i < kStages; ++i) {
      Queue* out = &queues.emplace_back(here, kDepth);
      here.spawn(stage(*in, *out));
      in = out;
    }
    here.spawn(last_stage(here, *in, sink));
  }
  const double seconds = seconds_of([&] { simulation.run(); });
  return {kHops, sink.checksum, seconds};
}

Result pipeline_bare() {
  sim::EventQueue queue;
  Sink sink;
  std::deque<BareStage> stages;
  std::deque<BareSource> sources;
  for (int chain = 0; chain < kChains; ++chain) {
    for (int i = 0; i < kStages; ++i) {
      BareStage& s = stages.emplace_back(queue, sink);
      if (i == 0) continue;
      s.before = &s == &stages.front() ? nullptr : &stages[stages.size() - 2];
      s.before->next = &s;
    }
    BareStage& first = stages[static_cast<std::size_t>(chain * kStages)];
    queue.push(sources.emplace_back(queue, first, chain * kItems), Time());
  }
  const double seconds = seconds_of([&] {
    while (sim::Event* e = queue.pop(Time::never())) e->fire();
  });
  return {kHops, sink.checksum, seconds};
}

}  // namespace kernbench::bench
