// What the operations of a program take in energy, worked out from the program before it runs: the bytes it moves and the
// routes they take, the multiply-adds and elements it computes, at the prices of the machine file. Knows nothing of how the
// machine carries them out, but that a transfer goes from the memory to the PE's TCM, or the other way.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "address/mmu_map.hpp"
#include "device/installed_wiring.hpp"
#include "device/op_record.hpp"
#include "kernbench/compute_model.hpp"
#include "kernbench/energy.hpp"
#include "kernbench/graph.hpp"
#include "kernbench/program.hpp"
#include "topology/energy_prices.hpp"

namespace kernbench::runtime {

using trace::Energy;
using trace::EnergyByPart;
using trace::EnergyPart;

struct Charge {
  EnergyByPart parts{};
  Energy fetch;  // of a matrix or vector operation: what of its tcm is spent before it computes
  friend auto operator<=>(const Charge&, const Charge&) = default;
};

/// What the records of one command and kind take together.
struct CommandCharge {
  device::OpKind kind = device::OpKind::program;
  std::uint32_t charge = 0;  // number in the table
  std::uint64_t amount =
      0;  // of a composite: that of its records in all; they share the charge by their amounts
};

/// The charges of a program's commands.
class ProgramCharges {
 public:
  /// Commands come in order; a command may have several kinds.
  void begin_command() { first_.push_back(static_cast<std::uint32_t>(entries_.size())); }
  void add(const CommandCharge& charge) { entries_.push_back(charge); }
  /// Null: nothing.
  const CommandCharge* find(isa::CommandIndex command, device::OpKind kind) const;

 private:
  std::vector<std::uint32_t> first_;  // by command
  std::vector<CommandCharge> entries_;
};

/// Replaces `out` by the memory behind virtual bytes, as a PE sees it; false if some of them are not mapped.
using FindMemory = std::function<bool(PeCoord pe, address::VirtAddr begin, Bytes size,
                                      std::vector<address::PhysPiece>& out)>;

class ChargeBook {
 public:
  ChargeBook(const topology::Machine& machine, const topology::Graph& graph, topology::EnergyPrices prices);

  /// `wiring`: whose queues it uses; null: none.
  ProgramCharges of(const isa::Program& program, const FindMemory& find_memory,
                    const device::WiringPtr& wiring);
  /// Bytes that the host writes to memory, or reads from it.
  void add_host(Charge& charge, address::PhysAddr memory, Bytes bytes, bool writes);

  const Charge& operator[](std::uint32_t number) const { return *charges_[number]; }
  const topology::EnergyPrices& prices() const { return prices_; }
  /// Keys of prices that were needed and are not given.
  const std::set<std::string>& unpriced() const { return unpriced_; }
  /// What links took, by what they carried: nothing but routers, ucie and pcie.
  void add_link(EnergyByPart& parts, topology::LinkId link, Bytes carried) const;

 private:
  class Counter;
  using PerByte = std::array<std::int64_t, trace::kEnergyParts>;  // in fJ

  std::uint32_t number_of(const Charge& charge);
  void add_flow(Charge& charge, topology::NodeId from, topology::NodeId to, Bytes bytes);
  const PerByte& price_of(topology::NodeId from, topology::NodeId to);
  std::int64_t note(const topology::Price& price);
  topology::NodeId memory_at(address::PhysAddr address) const;
  topology::NodeId slot_memory(const device::QueueRules& rules, PeCoord pe) const;

  const topology::Graph& graph_;
  const topology::EnergyPrices prices_;
  const std::int64_t slice_;
  const models::TileShape tile_;  // the matrix unit's
  std::map<Charge, std::uint32_t> numbers_;
  std::vector<const Charge*> charges_;  // by number: keys of the map
  std::unordered_map<std::uint64_t, PerByte> flows_;
  std::set<std::string> unpriced_;
};

}  // namespace kernbench::runtime
