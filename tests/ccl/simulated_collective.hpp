// A collective on the machine model: its plan installed, its kernels recorded, simulated, and the numbers replayed.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "ccl/collective_world.hpp"
#include "ccl/plan.hpp"
#include "data/hazards.hpp"
#include "data/replay.hpp"
#include "device/queue_world.hpp"
#include "runtime/memory_layout.hpp"

namespace kernbench::ccl {

class SimulatedCollective {
 public:
  SimulatedCollective(const Registry& registry, const Settings& settings, const topology::Machine& machine,
                      const PlanRequest& request = {})
      : pools_(runtime::memory_layout(machine)),
        plan_(make_plan(registry, settings, machine, pools_, request)),
        device_(machine),
        processors_(device_),
        log_(device_.simulation().partitions()) {
    processors_.writer().set_sink(&log_);
    install();
  }

  const Plan& plan() const { return plan_; }

  /// As run_functional: `tensors` of each of members.pes().
  PeArrays run(const PeArrays& tensors, const Call& call = {}) {
    const auto pes = plan_.members.pes();
    std::map<int, std::vector<std::shared_ptr<const isa::Program>>> programs;
    for (std::size_t i = 0; i < pes.size(); ++i)
      programs[pes[i].sip].push_back(record(pes[i], tensors[i], call));
    simulate(programs);
    data::MemoryStore store;
    for (std::size_t i = 0; i < pes.size(); ++i) place(pes[i], tensors[i], store);
    replay(store);
    PeArrays out;
    for (std::size_t i = 0; i < pes.size(); ++i) out.push_back(result(pes[i], tensors[i], store));
    return out;
  }

  /// First PE start to last PE end, of the last run.
  Time time() const { return time_; }
  std::int64_t messages() const {
    return std::ranges::count(records_, device::OpKind::ipcq_send, &device::OpRecord::kind);
  }
  std::vector<std::string> hazards() {
    data::HazardDetector detector(facts_);
    for (const auto& r : records_) detector.append(r);
    std::vector<std::string> out;
    for (const auto& h : detector.finish()) out.push_back(data::to_string(h));
    return out;
  }

 private:
  static constexpr std::uint64_t kBase = 0x1'0000'0000;  // every PE's own slice is mapped here
  static constexpr std::int64_t kApart = 4 << 20;        // tensor to tensor

  class Facts : public data::RunFacts {
   public:
    explicit Facts(SimulatedCollective& world) : world_(world) {}
    const device::Origin& origin(std::uint32_t index) override { return world_.processors_.origins()[index]; }
    void translate(std::uint32_t index, address::VirtAddr begin, Bytes size,
                   std::vector<address::PhysPiece>& out) override {
      world_.device_.mmu(origin(index).pe).translate(begin, size, out);
    }
    data::Message message(const device::OpRecord& record) override {
      const auto m = device::message_of(record, origin(record.origin));
      return {m.ring, m.number};
    }
    data::Ring ring(std::uint32_t number) override {
      const auto r = world_.processors_.queues().ring(number);
      return {static_cast<std::uint32_t>(r.slots), r.in_slot};
    }
    data::HostTransfer host_transfer(const device::OpRecord&) override { return {}; }
    data::RequestOrder request_order(std::uint32_t request) override { return {request, {}}; }

   private:
    SimulatedCollective& world_;
  };

  void install() {
    installed_ = processors_.queues().add(plan_.wiring);
    std::vector<std::unique_ptr<device::InstallRequest>> requests;
    for (int sip = 0; sip < device_.graph().sips(); ++sip) {
      auto request = std::make_unique<device::InstallRequest>(processors_, installed_, sip);
      if (request->targets.empty()) continue;
      request->submit();
      requests.push_back(std::move(request));
    }
    device_.simulation().run();
  }

  std::shared_ptr<const isa::Program> record(PeCoord pe, const std::vector<NdArray>& tensors,
                                             const Call& call) {
    if (device_.mmu(pe).window_count() == 0)
      device_.mmu(pe).insert(address::VirtAddr(kBase),
                             {address::pe_hbm_addr(pe, device_.machine().hbm_slice(), 0_B), 256_MiB},
                             "slice");
    tl::Environment e{.kernel = plan_.settings.name, .pe = pe};
    e.queues.emplace();
    for (const auto& end : installed_->ends(pe))
      e.queues->push_back(
          {end.direction, installed_->rules().slot_size, installed_->in_slot(), end.sends, end.receives});
    auto mine = plan_.call(pe);
    mine.op = call.op;
    mine.root = call.root;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const tl::Ptr at(kBase + i * kApart);
      (i == 0 ? mine.input : mine.output) = at;
      e.shards.push_back(
          {.tensor = at, .ptr = at, .shape = tensors[i].shape(), .origin = {0}, .dtype = tensors[i].dtype()});
    }
    tl::Context tl(std::move(e));
    run_kernel(plan_.algorithm.kernel, tl, mine);
    return std::make_shared<const isa::Program>(tl.take_program());
  }

  void simulate(const std::map<int, std::vector<std::shared_ptr<const isa::Program>>>& programs) {
    const auto first = log_.ordered().size();
    std::vector<device::KernelLaunch*> now;
    for (const auto& [sip, of_sip] : programs) {
      launches_.push_back(std::make_unique<device::KernelLaunch>(
          processors_, static_cast<std::uint32_t>(launches_.size()), sip, of_sip, installed_));
      now.push_back(launches_.back().get());
      device_.control().submit(*now.back());
    }
    device_.simulation().run();
    records_ = log_.ordered();
    records_.erase(records_.begin(), records_.begin() + static_cast<std::ptrdiff_t>(first));
    time_ = {};
    for (const auto* l : now) {
      EXPECT_GT(l->completed(), Time()) << plan_.settings.name << " has not completed";
      time_ = std::max(time_, l->pe_exec());
    }
  }

  address::PhysAddr at(PeCoord pe, std::size_t tensor) const {
    return address::pe_hbm_addr(pe, device_.machine().hbm_slice(),
                                Bytes(static_cast<std::int64_t>(tensor) * kApart));
  }
  void place(PeCoord pe, const std::vector<NdArray>& tensors, data::MemoryStore& store) const {
    for (std::size_t i = 0; i < tensors.size(); ++i) store.write(at(pe, i), tensors[i].bytes());
  }
  std::vector<NdArray> result(PeCoord pe, std::vector<NdArray> tensors,
                              const data::MemoryStore& store) const {
    for (std::size_t i = 0; i < tensors.size(); ++i) store.read(at(pe, i), tensors[i].bytes());
    return tensors;
  }
  void replay(data::MemoryStore& store) {
    data::ReplayExecutor executor(store, facts_, {.threads = 1});
    for (const auto& r : records_) executor.append(r);
    executor.finish();
  }

  address::MemoryPools pools_;
  Plan plan_;
  device::Device device_;
  device::Processors processors_;
  device::testing::PartitionLogs log_;
  Facts facts_{*this};
  device::WiringPtr installed_;
  std::vector<std::unique_ptr<device::KernelLaunch>> launches_;
  std::vector<device::OpRecord> records_;
  Time time_;
};

}  // namespace kernbench::ccl
