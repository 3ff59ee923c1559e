// A machine's fabric and nothing else, for tests of the fabric.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/fabric.hpp"
#include "kernbench/machine.hpp"
#include "printers.hpp"

namespace kernbench::device::testing {

/// A shipped machine whose routers take no time, so that the arithmetic in a test counts only what the test is about;
/// `overrides` come after that, and may set it again.
inline topology::Machine machine(std::vector<std::string> overrides = {},
                                 const std::string& name = "default") {
  overrides.insert(overrides.begin(), "cube.routers.overhead_ns=0");
  return topology::load_machine(name, overrides, topology::builtin_registry());
}

/// A message that remembers when it left and when it came.
class Probe : public Message {
 public:
  explicit Probe(sim::Simulation& simulation) : simulation_(simulation) {}
  Time left = Time::never();
  Time delivered = Time::never();

 private:
  void on_left() override { left = simulation_.partition(route->partition).now(); }
  void on_delivered() override { delivered = simulation_.partition(route->last_partition).now(); }
  sim::Simulation& simulation_;
};

class World {
 public:
  explicit World(std::vector<std::string> overrides = {}, FabricOptions options = {})
      : machine_(machine(std::move(overrides))),
        graph(machine_),
        simulation(graph.partition_count(), Fabric::lookahead(graph)),
        fabric(simulation, graph, FabricSpec::of(machine_), options) {}

  /// Sends when the simulation reaches `at`.
  Probe& send(topology::NodeId from, topology::NodeId to, Bytes bytes, Time at = {},
              Channel channel = Channel::compute) {
    probes.push_back(std::make_unique<Probe>(simulation));
    Probe& probe = *probes.back();
    probe.route = &fabric.route(from, to);
    probe.bytes = bytes;
    probe.channel = channel;
    starts.push_back(std::make_unique<Start>(fabric, probe));
    simulation.partition(probe.route->partition).schedule_at(*starts.back(), at);
    return probe;
  }
  Probe& send(const std::string& from, const std::string& to, Bytes bytes, Time at = {},
              Channel channel = Channel::compute) {
    return send(graph.find(from), graph.find(to), bytes, at, channel);
  }

 private:
  topology::Machine machine_;

 public:
  topology::Graph graph;
  sim::Simulation simulation;
  Fabric fabric;
  std::vector<std::unique_ptr<Probe>> probes;

 private:
  struct Start : sim::Event {
    Start(Fabric& f, Message& m) : Event(&fire), fabric(f), message(m) {}
    static void fire(sim::Event& e) { static_cast<Start&>(e).fabric.send(static_cast<Start&>(e).message); }
    Fabric& fabric;
    Message& message;
  };
  std::vector<std::unique_ptr<Start>> starts;
};

}  // namespace kernbench::device::testing
