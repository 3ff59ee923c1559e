// What is kept of links beside the bytes they carried: where the machine file asks for nothing of it, nothing is kept.
#pragma once

#include <cstdint>
#include <vector>

#include "device/message.hpp"
#include "kernbench/graph.hpp"
#include "kernbench/machine.hpp"

namespace kernbench::device {

/// What a machine file says of the fabric (`fabric`, `cube.routers`).
struct FabricSpec {
  FabricSpec(Bytes payload) : packet{payload, Bytes()} {}  // NOLINT: everything else as it is by default
  static FabricSpec of(const topology::Machine& machine);

  PacketFormat packet;
  Bytes request, acknowledgement;   // 0: they pay latency only
  std::int64_t buffer_packets = 0;  // that an input of a router holds; 0: not looked at
  bool credits = false;             // packets wait for room in a router's buffers (credit_link.hpp)
  std::size_t channels = 1;         // virtual channels of data, then
};

struct LinkNote {
  Bytes overhead;             // headers, requests and acknowledgements among its bytes
  std::uint64_t crowded = 0;  // packets that came when more than a router's buffer was before them
  Time stalled;               // somebody wanted it, and there was no room beyond it
  std::uint64_t stalls = 0;   // how often that was so
};

class LinkNotes {
 public:
  LinkNotes(const topology::Graph& graph, const FabricSpec& spec);

  bool kept() const { return !links_.empty(); }
  /// So many packets of a message came to the link, each of which waits so long. They are `bytes` on it.
  void add(topology::LinkId link, const Message& message, std::int64_t packets, Bytes bytes, Time wait) {
    add_to(links_[link.index], link, message, packets, bytes, wait);
  }
  /// They did not, after all.
  void take_back(topology::LinkId link, const Message& message, std::int64_t packets, Bytes bytes,
                 Time wait) {
    add_to(links_[link.index], link, message, -packets, Bytes() - bytes, wait);
  }
  /// It was free and wanted, and nobody could go.
  void add_stall(topology::LinkId link, Time time) {
    links_[link.index].note.stalled += time;
    ++links_[link.index].note.stalls;
  }
  /// What has been told of a link.
  LinkNote of(topology::LinkId link) const { return kept() ? links_[link.index].note : LinkNote(); }
  /// The same as `add`, to a copy of it.
  void add(LinkNote& note, topology::LinkId link, const Message& message, std::int64_t packets, Bytes bytes,
           Time wait) const;

 private:
  static constexpr Time kUnknown = Time::from_ps(-1);
  struct Kept {
    LinkNote note;
    Time room = kUnknown;  // how long it takes to send a full buffer; `never` where there is none
  };

  void add_to(Kept& kept, topology::LinkId link, const Message& message, std::int64_t packets, Bytes bytes,
              Time wait);
  void count(LinkNote& note, const Message& message, std::int64_t packets, Bytes bytes, bool crowded) const;
  Time room(topology::LinkId link) const;

  const topology::Graph& graph_;
  const PacketFormat packet_;
  const std::int64_t buffer_packets_;
  const bool credits_;
  std::vector<Kept> links_;  // by id; each is its partition's
};

}  // namespace kernbench::device
