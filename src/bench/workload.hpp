// What a launch asks of each resource of the machine: counted from its recorded programs and the routes of their
// transfers, before anything is simulated. Knows the machine file, its graph, and the least times that models promise.
//
// Counted are transfers between PEs and memories, tile by tile of composites, messages through queues, the matrix and
// vector units, the ports of the TCM and the CPU.
//
// Traffic is what crosses a link because of this launch. What it needs is less where queues are concerned: messages may
// have come before it began, and be under way when it has ended, as many as a queue holds.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "address/mmu_map.hpp"
#include "bench/byte_totals.hpp"
#include "kernbench/graph.hpp"
#include "kernbench/machine.hpp"
#include "kernbench/program.hpp"

namespace kernbench::bench {

/// Replaces `out` by the memory behind virtual bytes, as a PE sees it; false if some of them are not mapped.
using Translate = std::function<bool(PeCoord pe, address::VirtAddr begin, Bytes size,
                                     std::vector<address::PhysPiece>& out)>;

/// The queue of a direction of a PE.
struct QueueSlots {
  PeCoord peer;
  topology::NodeId there, here;  // where the slots lie that it sends to, and receives from
  Bytes window;                  // that a ring holds
};
/// None if the PE has no such direction.
using Queues = std::function<std::optional<QueueSlots>(std::string_view direction)>;

/// What one PE does.
struct PeWork {
  PeCoord pe;
  Time issue;       // its CPU's overhead and dispatch
  Time gemm, math;  // of the units, while they compute
  Time window;      // of a DMA channel, with its window full: every byte is in flight for a round trip
};

class Workload {
 public:
  /// Copies of an empty one share what was looked up in the machine and the outlines of programs. They must
  /// stay on one thread.
  Workload(const topology::Machine& machine, const topology::Graph& graph);

  /// Adds the program of one PE of the launch. What it does with bytes that are not mapped is left out: running it
  /// will say what is wrong.
  void add(const isa::Program& program, const Translate& translate, const Queues& queues = {});

  /// All programs are there: gives back what it took too much.
  void trim();

  const topology::Graph& graph() const { return graph_; }
  const std::vector<PeWork>& pes() const { return pes_; }
  /// What the vector unit does that has most to do, by name of the operation.
  const std::map<std::string, Time>& vector_by() const { return vector_by_; }
  /// Bytes that cross each link because of the launch, in full packets with their headers; that must cross it before the launch can end; and that each HBM
  /// slice (by its controller) delivers or takes by then.
  const ByteTotals<topology::LinkId>& links() const { return links_; }
  const ByteTotals<topology::LinkId>& needed() const { return needed_; }
  const std::map<topology::NodeId, Bytes>& slices() const { return slices_; }
  Bandwidth slice_bandwidth() const;
  /// Components whose impl gives no least time, and which therefore have no part in the bound: `cube.hbm (acme.fair_hbm)`.
  const std::vector<std::string>& left_out() const { return left_out_; }

  /// Directions that send more than their queue holds.
  struct Crowded {
    PeCoord from, to;
    std::string direction;
    friend auto operator<=>(const Crowded&, const Crowded&) = default;
  };
  const std::set<Crowded>& crowded() const { return crowded_; }

  /// The message that takes longest in an idle machine, there and back.
  struct Message {
    topology::NodeId from, to;  // the PE's DMA engine, and the memory
    Bytes bytes;
    Time time;
  };
  const Message& longest_message() const { return longest_; }

 private:
  struct Flow {  // between the PE and one memory, in one direction
    Bytes bytes;
    Bytes largest;  // of one message
    Bytes queues;   // what receives put there, which have a channel of their own
  };
  enum Direction { read, write };
  struct FlowKey {
    topology::NodeId memory;
    Direction direction;
    friend auto operator<=>(const FlowKey&, const FlowKey&) = default;
  };
  struct Rates;
  struct Outline;
  class OutlineBook;
  class Counter;

  struct Queued {  // through one direction
    Bytes sent, received;
    std::map<topology::NodeId, Flow> passed;  // by memory: references that are sent, past the DMA engine
    Bytes all_sent() const;
  };

  void add_flow(PeCoord pe, const FlowKey& key, const Flow& flow);
  Time window_time(PeCoord pe, const std::map<FlowKey, Flow>& flows, Direction direction) const;
  void add_queued(PeCoord pe, const QueueSlots& way, const Queued& bytes);
  void add_passed(PeCoord pe, const QueueSlots& way, topology::NodeId memory, const Flow& flow);
  void cross(topology::NodeId from, topology::NodeId to, Bytes traffic, Bytes needed);
  Time message_time(topology::NodeId dma, topology::NodeId tcm, const FlowKey& key, Bytes bytes) const;
  Time serialization(const std::vector<topology::LinkId>& way, Bytes bytes) const;
  Time memory_time(topology::NodeId memory) const;
  void leave_out(const std::string& path);

  const topology::Machine& machine_;
  const topology::Graph& graph_;
  std::shared_ptr<const Rates> rates_;
  std::shared_ptr<OutlineBook> outlines_;
  std::vector<PeWork> pes_;
  Time most_math_;
  std::map<std::string, Time> vector_by_;
  ByteTotals<topology::LinkId> links_, needed_;
  std::map<topology::NodeId, Bytes> slices_;
  std::set<Crowded> crowded_;
  Message longest_;
  std::vector<std::string> left_out_;
};

}  // namespace kernbench::bench
