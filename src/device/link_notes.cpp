#include "device/link_notes.hpp"

namespace kernbench::device {

FabricSpec FabricSpec::of(const topology::Machine& machine) {
  const ParamSet& fabric = machine.at("fabric");
  FabricSpec spec(fabric.bytes("packet_bytes"));
  spec.packet.header = fabric.bytes("header_bytes");
  spec.request = fabric.bytes("request_bytes");
  spec.acknowledgement = fabric.bytes("ack_bytes");
  const ParamSet& routers = machine.at("cube.routers");
  spec.buffer_packets = routers.integer("buffer_packets");
  spec.credits = routers.text("flow") == "credits";
  spec.channels = static_cast<std::size_t>(routers.integer("channels"));
  return spec;
}

LinkNotes::LinkNotes(const topology::Graph& graph, const FabricSpec& spec)
    : graph_(graph), packet_(spec.packet), buffer_packets_(spec.buffer_packets), credits_(spec.credits) {
  const Bytes overhead = spec.packet.header + spec.request + spec.acknowledgement;
  if (overhead > 0_B || buffer_packets_ > 0) links_.resize(graph.link_count());
}

/// Queues are those of the links that leave a router. What is before a packet there takes as long as it waits.
Time LinkNotes::room(topology::LinkId id) const {
  const topology::Link link = graph_.link(id);
  const bool leaves_router = graph_.node(link.from).kind == topology::NodeKind::router;
  const bool looked_at = !credits_ && buffer_packets_ > 0 && leaves_router;
  return looked_at ? link.bandwidth.time_for(packet_.wire() * buffer_packets_) : Time::never();
}

void LinkNotes::add_to(Kept& kept, topology::LinkId link, const Message& message, std::int64_t packets,
                       Bytes bytes, Time wait) {
  if (wait > Time() && kept.room == kUnknown) kept.room = room(link);
  count(kept.note, message, packets, bytes, wait > Time() && wait > kept.room);
}

void LinkNotes::add(LinkNote& note, topology::LinkId link, const Message& message, std::int64_t packets,
                    Bytes bytes, Time wait) const {
  if (kept()) count(note, message, packets, bytes, wait > Time() && wait > room(link));
}

void LinkNotes::count(LinkNote& note, const Message& message, std::int64_t packets, Bytes bytes,
                      bool crowded) const {
  note.overhead += message.purpose == Purpose::data ? packet_.header * packets : bytes;
  if (crowded) note.crowded += static_cast<std::uint64_t>(packets);
}

}  // namespace kernbench::device
