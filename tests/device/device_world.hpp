// A whole machine, for tests of memories, engines and the control path.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "own_models.hpp"
#include "printers.hpp"

namespace kernbench::device::testing {

/// A shipped machine, which may have the models of docs/own-models.md. Except for `realistic` its routers take no time, and packets have no headers, requests and
/// acknowledgements no size, so that the arithmetic in a test counts only what the test is about; `overrides` come after that, and may
/// set it again.
inline topology::Machine load(std::vector<std::string> overrides, const std::string& name = "default") {
  if (name != "realistic") overrides.insert(overrides.begin(), "cube.routers.overhead_ns=0");
  overrides.insert(overrides.begin(),
                   {"fabric.header_bytes=0", "fabric.request_bytes=0", "fabric.ack_bytes=0"});
  return topology::load_machine(name, overrides, kernbench::testing::registry_with_own_models());
}

/// A transfer that remembers when it retired.
class Transfer : public DmaTransfer {
 public:
  explicit Transfer(sim::Partition& partition) : partition_(partition) {}
  Time retired = Time::never();

 private:
  void on_retired() override {
    EXPECT_EQ(retired, Time::never()) << "retired twice";
    retired = partition_.now();
  }
  sim::Partition& partition_;
};

/// Issues a transfer at the instant for which it is scheduled.
class TransferStart : public sim::Event {
 public:
  TransferStart(DmaEngine& engine, DmaTransfer& transfer)
      : Event(&fire), engine_(engine), transfer_(transfer) {}

 private:
  static void fire(sim::Event& event) {
    TransferStart& start = static_cast<TransferStart&>(event);
    start.engine_.issue(start.transfer_);
  }
  DmaEngine& engine_;
  DmaTransfer& transfer_;
};

class Machine {
 public:
  explicit Machine(std::vector<std::string> overrides = {}, const std::string& name = "default",
                   FabricOptions options = {})
      : device(load(std::move(overrides), name), options) {}

  /// Issues a transfer between a PE's engine (or its TCM) and a memory, at the present instant.
  Transfer& issue(PeCoord pe, Direction direction, Memory& memory, Extent extent, bool to_tcm = false) {
    transfers.push_back(std::make_unique<Transfer>(device.simulation().partition(pe.sip + 1)));
    Transfer& transfer = *transfers.back();
    transfer.direction = direction;
    transfer.end = device.graph().pe(pe, to_tcm ? topology::NodeKind::pe_tcm : topology::NodeKind::pe_dma);
    transfer.pieces = {{&memory, extent}};
    device.dma(pe).issue(transfer);
    return transfer;
  }
  Transfer& read(PeCoord pe, Memory& memory, std::int64_t offset, std::int64_t bytes) {
    return issue(pe, Direction::read, memory, {.offset = offset, .row_bytes = bytes});
  }
  Transfer& write(PeCoord pe, Memory& memory, std::int64_t offset, std::int64_t bytes) {
    return issue(pe, Direction::write, memory, {.offset = offset, .row_bytes = bytes});
  }
  Time run() {
    device.simulation().run();
    return device.simulation().now();
  }

  Device device;
  std::vector<std::unique_ptr<Transfer>> transfers;
};

}  // namespace kernbench::device::testing
