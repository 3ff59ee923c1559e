// The queues of a PE: the ports of all its wirings.
#pragma once

#include <memory>
#include <vector>

#include "device/queue_port.hpp"
#include "device/queue_watcher.hpp"

namespace kernbench::device {

class Processors;
class Device;
class DmaEngine;

/// The PE behind the queues: told when one of its commands may go on.
class QueueUser {
 public:
  virtual ~QueueUser() = default;
  virtual void on_message(QueuePort& port) = 0;
  virtual void on_credit(QueuePort& port) = 0;
};

class PeIpcq {
 public:
  using Ports = std::vector<std::unique_ptr<QueuePort>>;

  PeIpcq(Processors& processors, PeCoord at, QueueUser& user);

  PeCoord at() const { return at_; }
  /// All counters of its ports are zero then; nothing may be under way in the rings.
  void install(const WiringPtr& wiring);
  void uninstall(const InstalledWiring& wiring);
  /// The ports of a wiring, in the order of directions; null if it is not installed here.
  Ports* find(const InstalledWiring& wiring);

  /// All ports of all wirings.
  template <class Fn>
  void for_each_port(const Fn& fn) {
    for (const Installed& installed : installed_)
      for (const auto& port : installed.ports) fn(*port);
  }

  /// A message has been announced: the direction is found by the address of its slot, never by who sent it.
  void announce(address::PhysAddr slot, std::uint32_t ring, const SendFacts& facts, Time committed);
  /// A credit has come: the direction is found by the base of the ring it was consumed from.
  void credit(address::PhysAddr base, std::uint32_t ring, const Cause& freed);

  // For the ports.
  Processors& processors() { return processors_; }
  Device& device() { return device_; }
  sim::Partition& partition() { return partition_; }
  DmaEngine& dma() { return dma_; }
  topology::NodeId node() const { return node_; }
  topology::NodeId tcm() const { return tcm_; }
  Time overhead() const { return overhead_; }
  QueueUser& user() { return user_; }
  PeIpcq& peer(PeCoord at);

 private:
  struct Entry {
    std::uint64_t base;
    std::uint64_t end;
    QueuePort* port;
  };
  struct Installed {
    WiringPtr wiring;
    Ports ports;
  };
  static QueuePort* find(const std::vector<Entry>& entries, address::PhysAddr address);
  void index_ports();

  Processors& processors_;
  Device& device_;
  const PeCoord at_;
  QueueUser& user_;
  sim::Partition& partition_;
  DmaEngine& dma_;
  const topology::NodeId node_, tcm_;
  const Time overhead_;
  std::vector<Installed> installed_;
  std::vector<Installed> dropped_;  // messages may still refer to them
  std::vector<Entry> by_own_ring_, by_peers_ring_;
};

}  // namespace kernbench::device
