// Adds up the energy of a run, record by record as they come, so that it is there whether the op log is kept or not.
//
// What each operation takes is worked out when its request is submitted (energy_charges.hpp); a record says that it was
// done, and when. Each partition has sums of its own, which its thread alone touches; sums of whole numbers are the same in
// any order.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "device/device.hpp"
#include "device/origins.hpp"
#include "runtime/energy_charges.hpp"
#include "runtime/requests.hpp"
#include "trace/power_windows.hpp"

namespace kernbench::runtime {

class EnergyMeter final : public device::OpSink {
 public:
  /// Records go on to `next`. Null if the machine has no prices.
  static std::unique_ptr<EnergyMeter> of(device::Device& device, const device::Origins& origins,
                                         device::OpSink& next);

  // Called by the host, while nothing is simulated.
  void submitted(const LaunchRequest& launch, const FindMemory& find_memory);
  void submitted(const TransferRequest& transfer);
  /// All of its records have come.
  void forget(std::uint32_t request) { requests_.erase(request); }
  /// What all records so far add up to.
  trace::EnergyReport report() const;

  void append(int partition, const device::OpRecord& record) override;
  void departed(int partition, const device::Departure& departure) override {
    next_.departed(partition, departure);
  }

 private:
  EnergyMeter(device::Device& device, const device::Origins& origins, device::OpSink& next,
              topology::EnergyPrices prices);

  /// What the programs of a launch take, or a transfer of the host.
  struct RequestCharges {
    std::map<PeCoord, ProgramCharges> programs;
    Charge transfer;
  };
  struct RequestSum {
    EnergyByPart parts{};
    std::uint64_t macs = 0;
  };
  /// Where the records of an origin count.
  struct Source {
    const ProgramCharges* charges = nullptr;
    RequestSum* sum = nullptr;
  };
  /// What one thread writes.
  struct alignas(64) Part {
    std::array<EnergyByPart, device::kOpKinds> by_kind{};
    std::unordered_map<std::uint32_t, std::unique_ptr<RequestSum>> by_request;
    std::vector<Source> sources;  // by origin, as far as they were asked for
    /// Composites at work, by origin, command and kind of step: the amount that was done.
    std::map<std::tuple<std::uint32_t, std::uint32_t, device::OpKind>, std::uint64_t> composites;
    trace::PowerWindows windows;
    Time last_end;
    std::uint64_t macs = 0;
  };

  Source& source_of(Part& part, const device::OpRecord& record) const;
  static Charge share_of(Part& part, const device::OpRecord& record, const Charge& whole,
                         std::uint64_t amount);
  static void add(Part& part, Source& source, const device::OpRecord& record, const Charge& charge);
  static void add_over_time(Part& part, const device::OpRecord& record, const Charge& charge);
  void count(Part& part, const device::OpRecord& record) const;
  void add_other(trace::EnergyReport& report, trace::PowerWindows& windows) const;

  device::Device& device_;
  const device::Origins& origins_;
  device::OpSink& next_;
  ChargeBook book_;
  Charge launch_;
  std::unordered_map<std::uint32_t, RequestCharges> requests_;
  std::vector<Part> parts_;
};

}  // namespace kernbench::runtime
