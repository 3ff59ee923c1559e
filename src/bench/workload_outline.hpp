// What a program asks for, without its addresses: counted once for all programs that differ in addresses
// alone.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/workload.hpp"

namespace kernbench::bench {

inline std::int64_t tiles(std::int64_t extent, std::int64_t tile) {
  return std::max<std::int64_t>(1, (extent + tile - 1) / tile);
}

/// The figures of a PE that its work is measured in.
struct Workload::Rates {
  explicit Rates(const topology::Machine& machine)
      : cycle(Time::from_ns(1 / machine.at("pe").number("clock_ghz"))),
        overhead(machine.at("pe.pe_cpu").time("overhead_ns")),
        dispatch(cycle * machine.at("pe.pe_cpu").integer("dispatch_cycles")),
        matrix(machine.behaviour<models::MatrixFactory>("pe.pe_gemm")(machine.at("pe.pe_gemm"))),
        vector(machine.behaviour<models::VectorFactory>("pe.pe_math")(machine.at("pe.pe_math"))),
        tile(matrix->tile()),
        hbm_slice(machine.hbm_slice()),
        packet(machine.at("fabric").integer("packet_bytes")),
        header(machine.at("fabric").integer("header_bytes")),
        request(on_link(machine.at("fabric").bytes("request_bytes"))),
        ack(on_link(machine.at("fabric").bytes("ack_bytes"))) {
    const models::MemoryBehaviour& hbm = machine.behaviour<models::MemoryBehaviour>("cube.hbm");
    if (hbm.at_least) memory = hbm.at_least(machine.at("cube.hbm"));
    const auto dma = machine.behaviour<models::DmaFactory>("pe.pe_dma")(machine.at("pe.pe_dma"));
    window = dma->window();
    knows_window = dma->whole() || window;
  }

  /// Fractions of a picosecond are cut off.
  Time time(double cycles) const {
    return Time::from_ps(static_cast<std::int64_t>(cycles * static_cast<double>(cycle.ps())));
  }

  /// What bytes take on a link at least: in full packets, each with its header.
  Bytes on_link(Bytes bytes) const {
    return Bytes(bytes.count() + (bytes.count() + packet - 1) / packet * header);
  }

  Time cycle, overhead, dispatch;
  std::unique_ptr<const models::MatrixModel> matrix;
  std::unique_ptr<const models::VectorModel> vector;
  models::TileShape tile;
  std::optional<models::MemoryBound> memory;
  std::optional<Bytes> window;  // of a DMA channel
  bool knows_window = true;     // or that there is none
  Bytes hbm_slice;
  std::int64_t packet, header;
  Bytes request, ack;  // on a link
};

/// Transfers whose lanes have addresses of their own are only listed (`others`): each program's addresses
/// decide.
struct Workload::Outline {
  Outline(const Rates& rates, const isa::Program& program);

  /// A dma command, or half of an atomic.
  struct Move {
    isa::CommandIndex command;
    Direction direction;
    Bytes first, span;  // the bytes it touches begin `first` behind its address, and are `span` long
    Bytes bytes;        // how many of these it moves
    Bytes largest;      // the largest message it makes
  };

  PeWork work;
  std::vector<Time> by_operation;
  std::map<std::uint32_t, Queued> queued;             // by number of direction
  Bytes tcm_read, tcm_write;                          // by the units
  bool has_gemm_bound = true, has_math_bound = true;  // of all of its work
  std::vector<Move> moves;
  std::vector<isa::CommandIndex> others;  // commands that each program must look at with its own addresses

 private:
  class Maker;
};

/// The outlines of the few programs seen last.
class Workload::OutlineBook {
 public:
  std::shared_ptr<const Outline> of(const Rates& rates, const isa::Program& program);

 private:
  struct Known {
    std::weak_ptr<const void> part;  // that the programs share
    std::shared_ptr<const Outline> outline;
  };
  std::array<Known, 4> known_;
  std::size_t next_ = 0;  // to be replaced
};

}  // namespace kernbench::bench
