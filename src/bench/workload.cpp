#include "bench/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "isa/transfer.hpp"
#include "kernbench/error.hpp"
#include "kernbench/math_op.hpp"

namespace kernbench::bench {

using isa::CommandKind;
using isa::ValueId;
using topology::LinkId;
using topology::NodeId;
using topology::NodeKind;

namespace {

std::int64_t tiles(std::int64_t extent, std::int64_t tile) {
  return std::max<std::int64_t>(1, (extent + tile - 1) / tile);
}

constexpr DType kAccumulator = DType::f32;  // of an epilogue

}  // namespace

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

Workload::Workload(const topology::Machine& machine, const topology::Graph& graph)
    : machine_(machine), graph_(graph), rates_(std::make_shared<const Rates>(machine)) {
  if (!rates_->memory) leave_out("cube.hbm");
  if (!rates_->knows_window) leave_out("pe.pe_dma");
}

/// Goes through one program.
class Workload::Counter {
 public:
  Counter(const Workload& all, const isa::Program& program, const Translate& translate)
      : all_(all), program_(program), translate_(translate), rates_(*all.rates_) {
    work_.pe = program.pe();
    work_.issue = rates_.overhead + rates_.dispatch * static_cast<std::int64_t>(program.commands().size());
    for (const isa::Command& command : program.commands()) add(command);
  }

  const PeWork& work() const { return work_; }
  std::map<std::string, Time> vector_by() const {
    std::map<std::string, Time> by_name;
    for (const MathOpInfo& op : math_ops())
      if (const Time time = by_operation_[static_cast<std::size_t>(op.op)]; time > Time())
        by_name[std::string(op.name)] = time;
    return by_name;
  }
  const std::map<FlowKey, Flow>& flows() const { return flows_; }
  const std::map<std::uint32_t, Queued>& queued() const { return queued_; }  // by number of direction
  Bytes tcm_read() const { return tcm_read_; }                               // by the units
  Bytes tcm_write() const { return tcm_write_; }                             // likewise
  bool has_gemm_bound() const { return !no_gemm_bound_; }
  bool has_math_bound() const { return !no_math_bound_; }

 private:
  void add(const isa::Command& command) {
    switch (command.kind) {
      case CommandKind::dma_read:
      case CommandKind::dma_write:
        return add_dma(command, command.kind == CommandKind::dma_read ? read : write);
      case CommandKind::atomic:
        add_dma(command, read);
        return add_dma(command, write);
      case CommandKind::load_scalar:
        return move(read, program_.address(command), itemsize(program_.scalar_dtype(command)), 1, true);
      case CommandKind::gemm:
      case CommandKind::math:
        return add_compute(command);
      case CommandKind::composite:
        return add_composite(program_.composite(command));
      case CommandKind::ipcq_send:
        return add_send(command);
      case CommandKind::ipcq_recv:
        return add_receive(command);
      case CommandKind::wait:
      case CommandKind::fence:
        return;
    }
  }

  void add_send(const isa::Command& command) {
    const ValueId sent = command.read[0];
    Queued& queued = queued_[command.detail];
    if (program_.value(sent).kind != isa::ValueKind::reference) {
      queued.sent += program_.bytes(sent);
      return;
    }
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

  /// From any direction: nobody knows which.
  void add_receive(const isa::Command& command) {
    const Bytes bytes = program_.bytes(command.result);
    if (command.detail != isa::kNone) queued_[command.detail].received += bytes;
    if (!program_.has_destination(command)) return;
    for_queue_ = true;
    move(write, program_.address(command), bytes.count(), 1, true);
    for_queue_ = false;
  }

  /// Mostly all of it lies in one piece of memory: then one look finds that for all segments.
  void add_dma(const isa::Command& command, Direction direction) {
    const int size = itemsize(program_.value(program_.moved(command)).dtype);
    if (lies_in_one_piece(command)) {
      Flow& flow = flows_[{memory_of(pieces_[0].begin), direction}];
      isa::for_each_segment(program_, command, [&](const isa::Segment& segment) {
        flow.bytes += Bytes(segment.elements * size);
        flow.largest = std::max(flow.largest, Bytes(segment.elements * size));
      });
      return;
    }
    isa::for_each_segment(program_, command, [&](const isa::Segment& segment) {
      move(direction, segment.address, segment.elements * size, 1, true);
    });
  }

  /// Whether everything between the first and the last byte that a transfer touches does; the piece is in `pieces_` then.
  bool lies_in_one_piece(const isa::Command& command) {
    std::array<isa::Access, 3> touched;
    if (isa::accesses(program_, command, touched) != 1) return false;
    const Bytes span(static_cast<std::int64_t>(touched[0].end - touched[0].begin));
    return translate_(program_.pe(), address::VirtAddr(touched[0].begin), span, pieces_) &&
           pieces_.size() == 1;
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

  void add_compute(const isa::Command& command) {
    const auto reads = program_.reads(command);
    models::Moved all{.fetch = {}, .store = program_.bytes(command.result)};
    for (const ValueId id : reads)
      if (program_.value(id).kind != isa::ValueKind::scalar) all.fetch += program_.distinct_bytes(id);
    if (command.kind == CommandKind::gemm) {
      const isa::GemmSize size = program_.gemm_size(command);
      const models::Product product{size.m,          size.k,          size.n,
                                    dtype(reads[0]), dtype(reads[1]), dtype(command.result)};
      add_moved(rates_.matrix->moved(product, all));
      return add_product(product, size.batches);
    }
    DType widest = dtype(command.result);
    for (const ValueId id : reads)
      if (itemsize(dtype(id)) > itemsize(widest)) widest = dtype(id);
    const models::VectorWork work{command.op, program_.math_elements(command), widest};
    add_moved(rates_.vector->moved(work, all));
    add_vector(work);
  }

  void add_moved(const models::Moved& bytes, std::int64_t times = 1) {
    tcm_read_ += bytes.fetch * times;
    tcm_write_ += bytes.store * times;
  }

  DType dtype(ValueId id) const { return program_.value(id).dtype; }

  void add_product(const models::Product& product, std::int64_t batches = 1) {
    const auto cycles = rates_.matrix->at_least(product);
    if (cycles) work_.gemm += rates_.time(*cycles) * batches;
    no_gemm_bound_ |= !cycles;
  }

  void add_math(MathOp op, Time time) {
    work_.math += time;
    by_operation_[static_cast<std::size_t>(op)] += time;
  }

  void add_vector(const models::VectorWork& work) {
    const auto cycles = rates_.vector->at_least(work);
    if (cycles) add_math(work.op, rates_.time(*cycles));
    no_math_bound_ |= !cycles;
  }

  /// out[m, n] = a[m, k] · b[k, n]: a is used once for each column of tiles, b once for each row of them.
  void add_composite(const isa::CompositeSpec& spec) {
    const std::int64_t m = program_.shape(spec.a)[0], k = program_.shape(spec.a)[1],
                       n = program_.shape(spec.b)[1];
    add_product({m, k, n, dtype(spec.a), dtype(spec.b), dtype(spec.out)});
    add_operand(spec.a, tiles(n, rates_.tile.n), std::min(m, rates_.tile.m) * std::min(k, rates_.tile.k));
    add_operand(spec.b, tiles(m, rates_.tile.m), std::min(k, rates_.tile.k) * std::min(n, rates_.tile.n));
    const int out_size = itemsize(program_.value(spec.out).dtype);
    if (program_.value(spec.out).kind == isa::ValueKind::reference)
      add_reference(write, spec.out, 1, std::min(m, rates_.tile.m) * std::min(n, rates_.tile.n) * out_size);
    add_steps({m, k, n, dtype(spec.a), dtype(spec.b), dtype(spec.out)}, program_.epilogue(spec).empty());
    for (const isa::EpilogueStep& step : program_.epilogue(spec)) add_epilogue(step, m, k, n);
    if (!program_.epilogue(spec).empty()) tcm_write_ += Bytes(m * n * out_size);
  }

  /// Tiles of one extent: so many of this size.
  struct Cut {
    std::int64_t size, count;
  };
  static std::array<Cut, 2> cuts(std::int64_t extent, std::int64_t tile) {
    const std::int64_t count = tiles(extent, tile);
    return {Cut{tile, count - 1}, Cut{extent - (count - 1) * tile, 1}};
  }

  /// What the matrix unit moves for the steps of a composite. The last step of an output tile stores it, if no epilogue does.
  void add_steps(const models::Product& whole, bool stores) {
    const Bytes a(itemsize(whole.a)), b(itemsize(whole.b)), out(itemsize(whole.out));
    for (const Cut& m : cuts(whole.m, rates_.tile.m))
      for (const Cut& n : cuts(whole.n, rates_.tile.n))
        for (const bool last : {false, true}) {
          const Cut k = cuts(whole.k, rates_.tile.k)[last ? 1 : 0];
          const std::int64_t times = m.count * n.count * k.count;
          if (times == 0) continue;
          models::Product step = whole;
          step.m = m.size, step.k = k.size, step.n = n.size;
          const models::Moved all{a * (m.size * k.size) + b * (k.size * n.size),
                                  last && stores ? out * (m.size * n.size) : Bytes()};
          add_moved(rates_.matrix->moved(step, all), times);
        }
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

  void add_epilogue(const isa::EpilogueStep& step, std::int64_t m, std::int64_t k, std::int64_t n) {
    const std::int64_t times = step.point == isa::EpiloguePoint::per_k_step ? tiles(k, rates_.tile.k) : 1;
    const std::int64_t elements = m * n * times;  // edge tiles may waste lanes beyond this
    add_vector({step.op, elements, kAccumulator});
    const bool reads_tile =
        step.operand != isa::kNone && program_.value(step.operand).kind != isa::ValueKind::scalar;
    if (reads_tile) tcm_read_ += Bytes(elements * itemsize(program_.value(step.operand).dtype));
  }

  const Workload& all_;
  const isa::Program& program_;
  const Translate& translate_;
  const Rates& rates_;
  PeWork work_;
  std::vector<Time> by_operation_ = std::vector<Time>(math_ops().size());
  std::map<FlowKey, Flow> flows_;
  std::map<std::uint32_t, Queued> queued_;
  Bytes tcm_read_, tcm_write_;
  bool no_gemm_bound_ = false, no_math_bound_ = false;  // of some of its work
  bool for_queue_ = false;                              // what is moved now
  std::vector<address::PhysPiece> pieces_;
};

void Workload::add(const isa::Program& program, const Translate& translate, const Queues& queues) {
  const Counter counter(*this, program, translate);
  pes_.push_back(counter.work());
  pes_.back().window = std::max(window_time(program.pe(), counter.flows(), read),
                                window_time(program.pe(), counter.flows(), write));
  if (counter.work().math > most_math_) {
    most_math_ = counter.work().math;
    vector_by_ = counter.vector_by();
  }
  if (!counter.has_gemm_bound()) leave_out("pe.pe_gemm");
  if (!counter.has_math_bound()) leave_out("pe.pe_math");
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
  use_port(tcm, dma, counter.tcm_read());
  use_port(dma, tcm, counter.tcm_write());
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
