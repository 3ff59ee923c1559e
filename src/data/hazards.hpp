// Hazards: what replay's values hide and real hardware would not forgive.
//
//   HazardDetector hazards(facts, {.gemm_tile = …});
//   for (records in order of (end, partition, id)) hazards.append(record);
//   for (const auto& h : hazards.finish()) fmt::print("{}\n", to_string(h));
//
// Needs no data: it looks at commands, addresses and times only. A program without hazards gives the same
// bits in every order the machine permits.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/composite.hpp"
#include "data/named_ranges.hpp"
#include "data/run_facts.hpp"
#include "kernbench/program.hpp"

namespace kernbench::data {

enum class HazardKind : std::uint8_t {
  write_write,       // two writes to the same bytes by different PEs or the host, in no order
  read_write,        // a read and a write, likewise
  slot_overwritten,  // a message was written over a tile whose last reader had not retired
  unread_message,    // a message nobody received
};
std::string_view to_string(HazardKind kind);

/// One of the two sides.
struct HazardOp {
  std::uint32_t origin = 0;
  std::uint32_t command = isa::kNone;  // kNone: the host
  PeCoord pe;
  std::string text;  // `dma_write by kernel 'step' on sip0.cube0.pe1 at ring.cpp:12`, `host write, request 3`
};

struct Hazard {
  HazardKind kind;
  HazardOp first;                  // the one that ended first; the reader of an overwritten slot
  std::optional<HazardOp> second;  // the send that overwrote; none for a message nobody received
  address::PhysAddr begin;         // the bytes both touch, of the first two kinds
  Bytes size;
  std::string place;              // the same for people, with the tensor's name
  std::uint64_t occurrences = 1;  // how often the same two source lines met; the rest is about the first time
};
std::string to_string(const Hazard& hazard);

struct HazardOptions {
  TileShape gemm_tile;                 // of the machine's GEMM units
  const NamedRanges* names = nullptr;  // for messages
};

class HazardDetector {
 public:
  explicit HazardDetector(RunFacts& facts, HazardOptions options = {});
  ~HazardDetector();
  HazardDetector(const HazardDetector&) = delete;
  HazardDetector& operator=(const HazardDetector&) = delete;

  void append(const device::OpRecord& record);
  /// A send of a reference has read it; as with replay, between the records that end by then and those that end later.
  void depart(const device::Departure& departure);
  /// The ring's wiring is dropped: its unread messages are hazards now.
  void drop_ring(std::uint32_t ring);
  /// The run has ended: so are all others. What was found, in the order it was found.
  const std::vector<Hazard>& finish();
  const std::vector<Hazard>& hazards() const;

 private:
  class Detector;
  std::unique_ptr<Detector> detector_;
};

}  // namespace kernbench::data
