// What replay and hazard detection must know of a run beside its records. The runtime implements it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "address/mmu_map.hpp"
#include "device/op_record.hpp"

namespace kernbench::data {

/// One message through a queue. Messages of a ring are numbered from 0 in the order of the sender's programs;
/// the n-th receive from the ring, in the order of the receiver's programs, gets number n.
struct Message {
  std::uint32_t ring = 0;  // its number, counted from 0 over all wirings: tables go by it
  std::uint32_t number = 0;
  friend bool operator==(const Message&, const Message&) = default;
};

struct Ring {
  std::uint32_t slots = 4;
  /// Tiles stay in their slot until their last reader has retired (rings in TCM); else the receive frees it.
  bool in_slot = true;
};

/// What one host_write or host_read record moved.
struct HostTransfer {
  std::vector<address::PhysPiece> pieces;
  /// What a write writes, alive until replay has done it; where a read puts what it finds.
  std::span<std::byte> bytes;
  /// Where the bytes of each piece begin in `bytes`, so that copies can share them; empty: one after the other.
  std::vector<std::int64_t> offsets;
};

/// Where a request of the host stands among the others. Numbers of one stream grow in submission order.
struct RequestOrder {
  std::uint32_t stream = 0;          // each request of a stream begins when the one before it has completed
  std::vector<std::uint32_t> after;  // requests of other streams the host had waited for before
  /// More of them, which many requests have in common; null: no more. It lives as long as the run.
  const std::vector<std::uint32_t>* after_all = nullptr;
};

/// Records are named by reference: only their origin, command and kind are to be looked at.
class RunFacts {
 public:
  virtual ~RunFacts() = default;

  virtual const device::Origin& origin(std::uint32_t index) = 0;

  /// The physical pieces of a virtual range as the PE of that origin saw it, in order.
  virtual void translate(std::uint32_t origin, address::VirtAddr begin, Bytes size,
                         std::vector<address::PhysPiece>& out) = 0;
  /// The message of an ipcq_send or ipcq_recv record.
  virtual Message message(const device::OpRecord& record) = 0;
  virtual Ring ring(std::uint32_t ring) = 0;
  /// The transfer of a host_write or host_read record. Only its pieces matter to hazard detection.
  virtual HostTransfer host_transfer(const device::OpRecord& record) = 0;
  /// The order of a request, counted as `Origin::launch`.
  virtual RequestOrder request_order(std::uint32_t request) = 0;
};

}  // namespace kernbench::data
