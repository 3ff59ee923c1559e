// Wirings as the machine knows them: checked, every ring with a number of its own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/op_record.hpp"
#include "device/queue_wiring.hpp"

namespace kernbench::device {

class Device;

/// A wiring that has been checked. Immutable; PEs and launches share it.
class InstalledWiring {
 public:
  struct End {
    std::string direction;
    PeCoord peer;
    address::PhysAddr receives_from, sends_to;
    bool sends = true, receives = true;
    std::uint32_t receive_ring = 0, send_ring = 0;  // numbers of the two rings, as far as there are
  };

  const std::string& name() const { return name_; }
  const QueueRules& rules() const { return rules_; }
  /// Received tiles stay in their slot until their last reader has retired.
  bool in_slot() const { return rules_.memory == address::MemorySpace::Tcm; }
  /// The directions of a PE, in their order; none if it is not wired.
  std::span<const End> ends(PeCoord pe) const;
  /// The wired PEs of a SIP, ascending.
  std::vector<PeCoord> pes_of(int sip) const;
  /// Those it was joined from; none if it was not.
  const std::vector<std::shared_ptr<const InstalledWiring>>& parts() const { return parts_; }
  std::uint32_t first_ring() const { return first_ring_; }
  std::uint32_t rings() const { return rings_; }

 private:
  friend class QueueBook;

  std::string name_;
  QueueRules rules_;
  std::map<PeCoord, std::vector<End>> pes_;
  std::uint32_t first_ring_ = 0, rings_ = 0;
  std::vector<std::shared_ptr<const InstalledWiring>> parts_;
  friend std::shared_ptr<const InstalledWiring> joined(
      const std::vector<std::shared_ptr<const InstalledWiring>>& parts);
};
using WiringPtr = std::shared_ptr<const InstalledWiring>;

/// For programs that use the queues of several wirings, of the same rules and with other names for their directions. It
/// needs no installation of its own: its parts do.
WiringPtr joined(const std::vector<WiringPtr>& parts);

/// The directions a program names, as ends of its PE.
struct QueueUse {
  WiringPtr wiring;
  std::vector<int> ends;  // by the program's number of a direction
  std::span<const InstalledWiring::End> at;
};

/// All wirings of a device. Used by the host, between runs.
class QueueBook {
 public:
  explicit QueueBook(Device& device) : device_(device) {}

  /// Checks it and numbers its rings. An InputError (`device.wiring`) if PEs are missing or wired twice, rings
  /// overlap or lie elsewhere than they should, or a direction has no reciprocal at its peer.
  WiringPtr add(const QueueWiring& wiring);
  /// Its addresses may be used again; its rings keep their numbers.
  void drop(const InstalledWiring& wiring);
  void drop_all();

  struct Ring {
    int slots = 0;
    bool in_slot = false;
  };
  /// Any ring there ever was.
  Ring ring(std::uint32_t number) const;

 private:
  struct Occupied {
    std::uint64_t end = 0;
    std::string who;
    std::uint32_t ring = 0;
  };
  class Check;

  Device& device_;
  std::map<std::uint64_t, Occupied> occupied_;  // by first byte
  std::map<std::uint32_t, Ring> rings_;         // by the first ring of their wiring
  std::uint32_t next_ring_ = 0;
};

/// A message through a queue. Messages of a ring are numbered from 0 in the order of the sender's programs; the
/// receives of a ring get them in this order.
struct QueueMessage {
  std::uint32_t ring = 0;
  std::uint32_t number = 0;
  friend bool operator==(QueueMessage, QueueMessage) = default;
};
/// The message of an ipcq_send or ipcq_recv record and its origin.
QueueMessage message_of(const OpRecord& record, const Origin& origin);

}  // namespace kernbench::device
