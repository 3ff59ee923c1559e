#include "bench/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "bench/workload_outline.hpp"
#include "isa/transfer.hpp"
#include "kernbench/error.hpp"
#include "kernbench/math_op.hpp"

namespace kernbench::bench {

using isa::CommandKind;
using isa::ValueId;
using topology::LinkId;
using topology::NodeId;
using topology::NodeKind;

Workload::Workload(const topology::Machine& machine, const topology::Graph& graph)
    : machine_(machine),
      graph_(graph),
      rates_(std::make_shared<const Rates>(machine)),
      outlines_(std::make_shared<OutlineBook>()) {
  if (!rates_->memory) leave_out("cube.hbm");
  if (!rates_->knows_window) leave_out("pe.pe_dma");
}

/// Goes through what one program moves.
class Workload::Counter {
 public:
  Counter(const Workload& all, const isa::Program& program, const Translate& translate)
      : all_(all),
        program_(program),
        translate_(translate),
        rates_(*all.rates_),
        outline_(all.outlines_->of(rates_, program)),
        queued_(outline_->queued) {
    add_moves();
    for (const isa::CommandIndex i : outline_->others) add(program.command(i));
  }

  const Outline& outline() const { return *outline_; }
  std::map<std::string, Time> vector_by() const {
    std::map<std::string, Time> by_name;
    for (const MathOpInfo& op : math_ops())
      if (const Time time = outline_->by_operation[static_cast<std::size_t>(op.op)]; time > Time())
        by_name[std::string(op.name)] = time;
    return by_name;
  }
  const std::map<FlowKey, Flow>& flows() const { return flows_; }
  const std::map<std::uint32_t, Queued>& queued() const { return queued_; }  // by number of direction

 private:
  using Move = Outline::Move;
  struct Range {
    std::uint64_t begin, end;
  };

  Range range_of(const Move& move) const {
    const std::uint64_t begin =
        program_.address(program_.command(move.command)) + static_cast<std::uint64_t>(move.first.count());
    return {begin, begin + static_cast<std::uint64_t>(move.span.count())};
  }

  /// Moves that follow each other in the program and whose bytes touch are looked up together.
  void add_moves() {
    const std::vector<Move>& moves = outline_->moves;
    for (std::size_t first = 0, last = 0; first < moves.size(); first = last) {
      Range all = range_of(moves[first]);
      for (last = first + 1; last < moves.size(); ++last) {
        const Range next = range_of(moves[last]);
        if (next.begin > all.end || next.end < all.begin) break;
        all = {std::min(all.begin, next.begin), std::max(all.end, next.end)};
      }
      add_together(std::span(moves).subspan(first, last - first), all);
    }
  }

  /// Mostly all the bytes lie in one piece of memory: then one look-up is enough for all these moves.
  void add_together(std::span<const Move> moves, Range all) {
    const std::optional<NodeId> memory = memory_of(all);
    if (!memory && moves.size() > 1) {
      for (const Move& move : moves) add_together({&move, 1}, range_of(move));
      return;
    }
    if (!memory) return add_segments(program_.command(moves[0].command), moves[0].direction);
    std::array<Flow*, 2> flows{};
    for (const Move& move : moves) {
      Flow*& flow = flows[move.direction];
      if (flow == nullptr) flow = &flows_[{*memory, move.direction}];
      flow->bytes += move.bytes;
      flow->largest = std::max(flow->largest, move.largest);
    }
  }

  /// The memory that has all of these bytes, in one piece.
  std::optional<NodeId> memory_of(Range range) {
    if (range.end <= range.begin) return std::nullopt;  // beyond the last address
    const Bytes size(static_cast<std::int64_t>(range.end - range.begin));
    if (!translate_(program_.pe(), address::VirtAddr(range.begin), size, pieces_) || pieces_.size() != 1)
      return std::nullopt;
    const NodeId memory = memory_of(pieces_[0].begin);
    return memory_of(pieces_[0].begin + (size - 1_B)) == memory ? std::optional(memory) : std::nullopt;
  }

  /// A command that the outline leaves to each program.
  void add(const isa::Command& command) {
    switch (command.kind) {
      case CommandKind::dma_read:
      case CommandKind::dma_write:
        return add_scattered(command, command.kind == CommandKind::dma_read ? read : write);
      case CommandKind::atomic:
        add_scattered(command, read);
        return add_scattered(command, write);
      case CommandKind::load_scalar:
        return move(read, program_.address(command), itemsize(program_.scalar_dtype(command)), 1, true);
      case CommandKind::composite:
        return add_composite(program_.composite(command));
      case CommandKind::ipcq_send:
        return add_send(command);
      case CommandKind::ipcq_recv:
        return add_receive(command);
      case CommandKind::gemm:
      case CommandKind::math:
      case CommandKind::wait:
      case CommandKind::fence:
        return;
    }
  }

  void add_send(const isa::Command& command) {
    const ValueId sent = command.read[0];
    Queued& queued = queued_[command.detail];
    const int size = itemsize(program_.value(sent).dtype);
    isa::for_each_segment(program_, sent, [&](const isa::Segment& s) {
      if (!translate_(program_.pe(), address::VirtAddr(s.address), Bytes(s.elements * size), pieces_)) return;
      for (const address::PhysPiece& piece : pieces_) {
        Flow& flow = queued.passed[memory_of(piece.begin)];
        flow.bytes += piece.size;
        flow.largest = std::max(flow.largest, piece.size);
      }
    });
  }

  void add_receive(const isa::Command& command) {
    for_queue_ = true;
    move(write, program_.address(command), program_.bytes(command.result).count(), 1, true);
    for_queue_ = false;
  }

  /// A transfer whose lanes have addresses of their own.
  void add_scattered(const isa::Command& command, Direction direction) {
    std::array<isa::Access, 3> touched;
    if (isa::accesses(program_, command, touched) == 0) return;
    const std::optional<NodeId> memory = memory_of({touched[0].begin, touched[0].end});
    if (!memory) return add_segments(command, direction);
    Flow& flow = flows_[{*memory, direction}];
    const int size = itemsize(program_.value(program_.moved(command)).dtype);
    isa::for_each_segment(program_, command, [&](const isa::Segment& segment) {
      flow.bytes += Bytes(segment.elements * size);
      flow.largest = std::max(flow.largest, Bytes(segment.elements * size));
    });
  }

  void add_segments(const isa::Command& command, Direction direction) {
    const int size = itemsize(program_.value(program_.moved(command)).dtype);
    isa::for_each_segment(program_, command, [&](const isa::Segment& segment) {
      move(direction, segment.address, segment.elements * size, 1, true);
    });
  }

  /// `times` transfers of the same bytes. A piece of memory is a message, or part of one, if they move `together`.
  void move(Direction direction, std::uint64_t address, std::int64_t bytes, std::int64_t times,
            bool together) {
    if (!translate_(program_.pe(), address::VirtAddr(address), Bytes(bytes), pieces_)) return;
    for (const address::PhysPiece& piece : pieces_) {
      Flow& flow = flows_[{memory_of(piece.begin), direction}];
      flow.bytes += piece.size * times;
      if (for_queue_) flow.queues += piece.size * times;
      if (together) flow.largest = std::max(flow.largest, piece.size);
    }
  }

  NodeId memory_of(address::PhysAddr address) const {
    const address::DecodedAddr at = address::decode(address);
    switch (at.resource) {
      case address::Resource::Hbm:
        return all_.graph_.hbm_ctrl(
            {at.sip, at.cube, static_cast<int>(at.offset.count() / rates_.hbm_slice.count())});
      case address::Resource::Sram:
        return all_.graph_.sram(at.in_cube());
      case address::Resource::Tcm:
        return all_.graph_.pe(at.at_pe(), NodeKind::pe_tcm);
      case address::Resource::Mcpu:
      case address::Resource::Ipcq:
      case address::Resource::Scratchpad:
      case address::Resource::Regfile:
      case address::Resource::Status:
        break;
    }
    KB_ASSERT(false, "{} is in no memory of data", to_string(address));
  }

  /// out[m, n] = a[m, k] · b[k, n]: a is used once for each column of tiles, b once for each row of them.
  void add_composite(const isa::CompositeSpec& spec) {
    const std::int64_t m = program_.shape(spec.a)[0], k = program_.shape(spec.a)[1],
                       n = program_.shape(spec.b)[1];
    add_operand(spec.a, tiles(n, rates_.tile.n), std::min(m, rates_.tile.m) * std::min(k, rates_.tile.k));
    add_operand(spec.b, tiles(m, rates_.tile.m), std::min(k, rates_.tile.k) * std::min(n, rates_.tile.n));
    const int out_size = itemsize(program_.value(spec.out).dtype);
    if (program_.value(spec.out).kind == isa::ValueKind::reference)
      add_reference(write, spec.out, 1, std::min(m, rates_.tile.m) * std::min(n, rates_.tile.n) * out_size);
  }

  void add_operand(ValueId value, std::int64_t times, std::int64_t tile_elements) {
    const int size = itemsize(program_.value(value).dtype);
    if (program_.value(value).kind == isa::ValueKind::reference)
      add_reference(read, value, times, tile_elements * size);
  }

  /// A tile is a message of its own if it lies in one piece of memory: that is certain if the whole operand does.
  void add_reference(Direction direction, ValueId value, std::int64_t times, std::int64_t tile_bytes) {
    const Rows rows = rows_of(value);
    const Bytes span((rows.count - 1) * rows.stride + rows.bytes);
    if (translate_(program_.pe(), address::VirtAddr(rows.address), span, pieces_) && pieces_.size() == 1) {
      Flow& flow = flows_[{memory_of(pieces_[0].begin), direction}];
      flow.bytes += Bytes(rows.count * rows.bytes * times);
      flow.largest = std::max(flow.largest, Bytes(tile_bytes));
      return;
    }
    for (std::int64_t r = 0; r < rows.count; ++r)
      move(direction, rows.address + static_cast<std::uint64_t>(r * rows.stride), rows.bytes, times, false);
  }

  /// The runs of a matrix in memory: consecutive bytes, again and again.
  struct Rows {
    std::uint64_t address;
    std::int64_t bytes, count, stride;
  };
  Rows rows_of(ValueId matrix) const {
    const Shape& shape = program_.shape(matrix);
    const isa::Strides strides = program_.layout(matrix).strides;
    const std::int64_t size = itemsize(program_.value(matrix).dtype);
    const bool by_columns = shape[1] > 1 && strides[1] != 1;
    const std::int64_t length = shape[by_columns ? 0 : 1], count = shape[by_columns ? 1 : 0];
    const std::int64_t stride = strides[by_columns ? 1 : 0];
    if (stride == length) return {program_.address(matrix), length * count * size, 1, 0};
    return {program_.address(matrix), length * size, count, stride * size};
  }

  const Workload& all_;
  const isa::Program& program_;
  const Translate& translate_;
  const Rates& rates_;
  const std::shared_ptr<const Outline> outline_;
  std::map<FlowKey, Flow> flows_;
  std::map<std::uint32_t, Queued> queued_;
  bool for_queue_ = false;  // what is moved now
  std::vector<address::PhysPiece> pieces_;
};

void Workload::add(const isa::Program& program, const Translate& translate, const Queues& queues) {
  const Counter counter(*this, program, translate);
  const Outline& outline = counter.outline();
  pes_.push_back(outline.work);
  pes_.back().pe = program.pe();
  pes_.back().window = std::max(window_time(program.pe(), counter.flows(), read),
                                window_time(program.pe(), counter.flows(), write));
  if (outline.work.math > most_math_) {
    most_math_ = outline.work.math;
    vector_by_ = counter.vector_by();
  }
  if (!outline.has_gemm_bound) leave_out("pe.pe_gemm");
  if (!outline.has_math_bound) leave_out("pe.pe_math");
  for (const auto& [key, flow] : counter.flows()) add_flow(program.pe(), key, flow);
  for (const auto& [direction, bytes] : counter.queued())
    if (const auto way = queues ? queues(program.directions()[direction]) : std::nullopt) {
      add_queued(program.pe(), *way, bytes);
      if (bytes.all_sent() > way->window)
        crowded_.insert({program.pe(), way->peer, std::string(program.directions()[direction])});
    }
  const NodeId tcm = graph_.pe(program.pe(), NodeKind::pe_tcm);
  const NodeId dma = graph_.pe(program.pe(), NodeKind::pe_dma);
  const auto use_port = [&](NodeId from, NodeId to, Bytes bytes) {
    if (bytes == 0_B) return;
    const LinkId port = graph_.route(from, to).front();
    links_.add(port, bytes);
    needed_.add(port, bytes);
  };
  use_port(tcm, dma, outline.tcm_read);
  use_port(dma, tcm, outline.tcm_write);
}

void Workload::trim() {
  links_.trim();
  needed_.trim();
  pes_.shrink_to_fit();
}

void Workload::cross(NodeId from, NodeId to, Bytes traffic, Bytes needed) {
  for (const LinkId link : graph_.route(from, to)) {
    links_.add(link, rates_->on_link(traffic));
    needed_.add(link, rates_->on_link(needed));
  }
}

void Workload::add_flow(PeCoord pe, const FlowKey& key, const Flow& flow) {
  const NodeId tcm = graph_.pe(pe, NodeKind::pe_tcm);
  const NodeId dma = graph_.pe(pe, NodeKind::pe_dma);
  const bool reads = key.direction == read;
  cross(reads ? key.memory : tcm, reads ? tcm : key.memory, flow.bytes, flow.bytes);
  if (graph_.node(key.memory).kind == NodeKind::hbm_ctrl) slices_[key.memory] += flow.bytes;
  const Time time = message_time(dma, tcm, key, flow.largest);
  if (time > longest_.time) longest_ = {dma, key.memory, flow.largest, time};
}

/// A byte counts against its channel's window from its request, or its departure, to the data, or the acknowledgement.
Time Workload::window_time(PeCoord pe, const std::map<FlowKey, Flow>& flows, Direction direction) const {
  if (!rates_->window) return Time();
  const NodeId tcm = graph_.pe(pe, NodeKind::pe_tcm), dma = graph_.pe(pe, NodeKind::pe_dma);
  double byte_ps = 0;
  for (const auto& [key, flow] : flows)
    if (key.direction == direction)
      byte_ps += static_cast<double>((flow.bytes - flow.queues).count()) *
                 static_cast<double>(message_time(dma, tcm, key, 0_B).ps());
  return Time::from_ps(static_cast<std::int64_t>(byte_ps / static_cast<double>(rates_->window->count())));
}

Bytes Workload::Queued::all_sent() const {
  Bytes all = sent;
  for (const auto& [memory, flow] : passed) all += flow.bytes;
  return all;
}

/// A send of a reference has retired when its last byte has left the memory, and the engine knows. Of what may still be
/// on its way then, all but a window has arrived, as with tiles.
void Workload::add_passed(PeCoord pe, const QueueSlots& way, NodeId memory, const Flow& flow) {
  const NodeId dma = graph_.pe(pe, NodeKind::pe_dma);
  const Bytes arrived = flow.bytes > way.window ? flow.bytes - way.window : 0_B;
  cross(memory, dma, flow.bytes, arrived);
  cross(dma, way.there, flow.bytes, arrived);
  const std::vector<LinkId> back = graph_.route(memory, dma);
  needed_.add(back.front(), rates_->on_link(flow.bytes) - rates_->on_link(arrived));
  if (graph_.node(memory).kind == NodeKind::hbm_ctrl) slices_[memory] += flow.bytes;
  if (graph_.node(way.there).kind == NodeKind::hbm_ctrl) slices_[way.there] += arrived;
  const Time time = graph_.latency(graph_.route(dma, memory)) + memory_time(memory) + graph_.latency(back) +
                    graph_.link(back.front()).bandwidth.time_for(rates_->on_link(flow.largest));
  if (time > longest_.time) longest_ = {dma, memory, flow.largest, time};
}

/// A queue holds a window at most, so all else that was sent has been received, and all else that was received was sent,
/// while the launch ran. What comes from the same SIP its sender has counted.
void Workload::add_queued(PeCoord pe, const QueueSlots& way, const Queued& bytes) {
  const NodeId tcm = graph_.pe(pe, NodeKind::pe_tcm), peers = graph_.pe(way.peer, NodeKind::pe_tcm);
  const auto beyond = [&](Bytes all) { return all > way.window ? all - way.window : 0_B; };
  if (bytes.sent > 0_B) {
    cross(tcm, way.there, bytes.sent, beyond(bytes.sent));
    if (graph_.node(way.there).kind == NodeKind::hbm_ctrl) slices_[way.there] += beyond(bytes.sent);
  }
  for (const auto& [memory, flow] : bytes.passed) add_passed(pe, way, memory, flow);
  if (bytes.received == 0_B) return;
  if (way.peer.sip != pe.sip) cross(peers, way.here, 0_B, beyond(bytes.received));
  if (way.here == tcm) return;
  cross(way.here, tcm, bytes.received, bytes.received);
  if (graph_.node(way.here).kind == NodeKind::hbm_ctrl) slices_[way.here] += bytes.received;
}

/// A read is a request and data back, a write is data and an acknowledgement.
Time Workload::message_time(NodeId dma, NodeId tcm, const FlowKey& key, Bytes bytes) const {
  const bool reads = key.direction == read;
  const std::vector<LinkId> data = graph_.route(reads ? key.memory : tcm, reads ? tcm : key.memory);
  const std::vector<LinkId> other = graph_.route(reads ? dma : key.memory, reads ? key.memory : dma);
  return graph_.latency(data) + graph_.latency(other) + serialization(data, rates_->on_link(bytes)) +
         serialization(other, reads ? rates_->request : rates_->ack) + memory_time(key.memory);
}

/// On the slowest link of a way.
Time Workload::serialization(const std::vector<LinkId>& way, Bytes bytes) const {
  Time longest;
  for (const LinkId link : way) longest = std::max(longest, graph_.link(link).bandwidth.time_for(bytes));
  return longest;
}

Time Workload::memory_time(NodeId memory) const {
  const bool is_hbm = graph_.node(memory).kind == NodeKind::hbm_ctrl;
  return is_hbm && rates_->memory ? rates_->memory->access : Time();
}

/// Without a bound of its own a slice is no faster than its link.
Bandwidth Workload::slice_bandwidth() const {
  return rates_->memory ? rates_->memory->rate : machine_.at("cube.hbm").bandwidth("hbm_to_router_bw_gbs");
}

void Workload::leave_out(const std::string& path) {
  const std::string name = fmt::format("{} ({})", path, machine_.group(path).impl);
  if (std::find(left_out_.begin(), left_out_.end(), name) == left_out_.end()) left_out_.push_back(name);
}

}  // namespace kernbench::bench
