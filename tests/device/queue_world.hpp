// PEs that talk to each other: a machine, a wiring on it, kernels over all of its SIPs, and all records.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/device_world.hpp"
#include "device/install.hpp"
#include "device/launch.hpp"
#include "kernbench/tl.hpp"

namespace kernbench::device::testing {

inline constexpr std::uint64_t kSlice = 0x1'0000'0000;  // every PE's own slice is mapped here

/// Records of several partitions, each written by its own thread.
class PartitionLogs : public OpSink {
 public:
  explicit PartitionLogs(int partitions)
      : logs_(static_cast<std::size_t>(partitions)), departures_(logs_.size()) {}
  void append(int partition, const OpRecord& record) override {
    logs_[static_cast<std::size_t>(partition)].push_back(record);
  }
  void departed(int partition, const Departure& departure) override {
    departures_[static_cast<std::size_t>(partition)].push_back(departure);
  }
  /// By time.
  std::vector<Departure> departures() const {
    std::vector<Departure> all;
    for (const auto& of : departures_) all.insert(all.end(), of.begin(), of.end());
    std::ranges::stable_sort(all, {}, &Departure::at);
    return all;
  }
  /// In order of (end, partition, id).
  std::vector<OpRecord> ordered() const {
    std::vector<OpRecord> all;
    for (const auto& log : logs_) all.insert(all.end(), log.begin(), log.end());
    std::stable_sort(all.begin(), all.end(),
                     [](const OpRecord& a, const OpRecord& b) { return a.end < b.end; });
    return all;
  }
  const std::vector<std::vector<OpRecord>>& logs() const { return logs_; }

 private:
  std::vector<std::vector<OpRecord>> logs_;
  std::vector<std::vector<Departure>> departures_;
};

/// The PE a kernel is recorded for.
inline PeCoord pe_of(const tl::Context& tl) { return {tl.program_id(2), tl.program_id(1), tl.program_id(0)}; }

class QueueWorld {
 public:
  explicit QueueWorld(std::vector<std::string> overrides = {}, FabricOptions options = {})
      : QueueWorld(load(std::move(overrides)), options) {}
  explicit QueueWorld(const topology::Machine& machine, FabricOptions options = {})
      : device(machine, options), processors(device), log(device.simulation().partitions()) {
    processors.writer().set_sink(&log);
    wiring.name = "test";
  }

  /// A ring of its own for a direction of a PE, behind those it has.
  address::PhysAddr new_ring(PeCoord pe) {
    const Bytes size = wiring.rules.slot_size * wiring.rules.slots;
    using enum address::MemorySpace;
    switch (wiring.rules.memory) {
      case Tcm:
        return address::pe_tcm_addr(pe, 8_MiB + size * rings_[pe]++);
      case Hbm:
        return address::pe_hbm_addr(pe, device.machine().hbm_slice(), 256_MiB + size * rings_[pe]++);
      default:
        return address::cube_sram_addr(pe.in_cube(), size * rings_[{pe.sip, pe.cube, 0}]++);
    }
  }
  /// Joins a direction of one PE with a direction of another.
  void link(PeCoord a, const std::string& from_a, PeCoord b, const std::string& from_b) {
    const auto at_a = new_ring(a), at_b = new_ring(b);
    ends_of(a).push_back({from_a, b, at_a, at_b});
    ends_of(b).push_back({from_b, a, at_b, at_a});
  }
  /// The same, from the first to the second only.
  void link_one_way(PeCoord a, const std::string& from_a, PeCoord b, const std::string& from_b) {
    const auto at_b = new_ring(b);
    ends_of(a).push_back({from_a, b, {}, at_b, true, false});
    ends_of(b).push_back({from_b, a, at_b, {}, false, true});
  }
  /// Each PE's E leads to the next one's W, around.
  void ring(const std::vector<PeCoord>& pes) {
    for (std::size_t i = 0; i < pes.size(); ++i) link(pes[i], "E", pes[(i + 1) % pes.size()], "W");
  }
  std::vector<QueueEnd>& ends_of(PeCoord pe) {
    for (PeQueues& q : wiring.pes)
      if (q.pe == pe) return q.ends;
    wiring.pes.push_back({pe, {}});
    return wiring.pes.back().ends;
  }

  /// Checks the wiring and carries it to the PEs.
  void install() {
    const WiringPtr before = installed;
    if (before) processors.queues().drop(*before);
    installed = processors.queues().add(wiring);
    std::vector<std::unique_ptr<InstallRequest>> requests;
    for (int sip = 0; sip < device.graph().sips(); ++sip) {
      auto request = std::make_unique<InstallRequest>(processors, installed, sip, before);
      if (request->targets.empty()) continue;
      request->submit();
      requests.push_back(std::move(request));
    }
    simulate();
    installation = Time();
    for (const auto& r : requests) installation = std::max(installation, r->total());
  }

  /// Records the kernel for each PE and launches it, SIP by SIP, without running it.
  template <class Kernel, class... Args>
  void launch(const std::vector<PeCoord>& pes, Kernel kernel, Args... args) {
    if (!installed) install();
    std::map<int, std::vector<std::shared_ptr<const isa::Program>>> programs;
    for (const PeCoord& pe : pes) {
      map(pe);
      tl::Context tl(environment(pe));
      run_kernel(kernel, tl, args...);
      programs[pe.sip].push_back(std::make_shared<const isa::Program>(tl.take_program()));
    }
    for (const auto& [sip, of_sip] : programs) {
      launches.push_back(std::make_unique<KernelLaunch>(processors, static_cast<std::uint32_t>(requests_++),
                                                        sip, of_sip, installed));
      device.control().submit(*launches.back());
    }
  }
  template <class Kernel, class... Args>
  void run(const std::vector<PeCoord>& pes, Kernel kernel, Args... args) {
    launch(pes, kernel, args...);
    simulate();
    for (const auto& l : launches) ASSERT_GT(l->completed(), Time()) << "a launch has not completed";
  }
  void simulate() { device.simulation().run({.threads = threads}); }

  tl::Environment environment(PeCoord pe) const {
    tl::Environment e{.kernel = "kernel", .pe = pe};
    if (!check_directions) return e;
    e.queues.emplace();
    for (const auto& end : installed->ends(pe))
      e.queues->push_back(
          {end.direction, installed->rules().slot_size, installed->in_slot(), end.sends, end.receives});
    return e;
  }
  void map(PeCoord pe) {
    if (device.mmu(pe).window_count() > 0) return;
    device.mmu(pe).insert(address::VirtAddr(kSlice),
                          {address::pe_hbm_addr(pe, device.machine().hbm_slice(), 0_B), 64_MiB}, "slice");
  }

  std::vector<OpRecord> of(PeCoord pe, OpKind kind) const {
    std::vector<OpRecord> found;
    for (const OpRecord& r : log.ordered())
      if (r.kind == kind && processors_().origins()[r.origin].pe == pe) found.push_back(r);
    return found;
  }
  Time start_of(PeCoord pe) const { return of(pe, OpKind::program).back().end; }
  /// Times count from the start of the PE's last program.
  struct Span {
    Time start, end;
    friend bool operator==(const Span&, const Span&) = default;
    friend void PrintTo(const Span& s, std::ostream* out) {
      *out << "[" << to_string(s.start) << ", " << to_string(s.end) << "]";
    }
  };
  std::vector<Span> spans(PeCoord pe, OpKind kind) const {
    std::vector<Span> found;
    const Time zero = start_of(pe);
    for (const OpRecord& r : of(pe, kind))
      if (r.start >= zero) found.push_back({r.start - zero, r.end - zero});
    return found;
  }

  Device device;
  Processors processors;
  PartitionLogs log;
  QueueWiring wiring;
  WiringPtr installed;
  Time installation;  // how long it took
  int threads = 1;
  bool check_directions = true;  // while recording
  std::vector<std::unique_ptr<KernelLaunch>> launches;

 private:
  const Processors& processors_() const { return processors; }
  std::map<PeCoord, std::int64_t> rings_;
  std::size_t requests_ = 0;
};

}  // namespace kernbench::device::testing
