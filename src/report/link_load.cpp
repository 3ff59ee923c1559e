#include "report/link_load.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <unordered_map>

#include "data/composite.hpp"
#include "device/pe_spec.hpp"
#include "isa/transfer.hpp"
#include "trace/recording.hpp"

namespace kernbench::report {
namespace {

using device::OpKind;
using device::OpRecord;
using topology::LinkId;
using topology::NodeId;
using topology::NodeKind;

constexpr std::size_t kMostSeries = 4096;

struct Flow {
  NodeId from, to;
  friend auto operator<=>(const Flow&, const Flow&) = default;
};

/// Adds up the bytes of each flow per bucket.
class Flows {
 public:
  explicit Flows(Time bucket) : bucket_(static_cast<double>(bucket.ps())) {}

  void add(const Flow& flow, std::int64_t bytes, Time begin, Time end) {
    std::vector<double>& sums = flows_[flow];
    if (sums.empty()) sums.resize(kBuckets);
    const auto first = static_cast<double>(begin.ps()) / bucket_,
               last = static_cast<double>(end.ps()) / bucket_;
    const auto at = [](double x) { return std::clamp(static_cast<int>(x), 0, kBuckets - 1); };
    if (at(first) == at(last)) {
      sums[static_cast<std::size_t>(at(first))] += static_cast<double>(bytes);
      return;
    }
    const double rate = static_cast<double>(bytes) / (last - first);
    for (int i = at(first); i <= at(last); ++i)
      sums[static_cast<std::size_t>(i)] += rate * (std::min(last, i + 1.0) - std::max(first, double(i)));
  }

  const std::map<Flow, std::vector<double>>& all() const { return flows_; }

 private:
  const double bucket_;
  std::map<Flow, std::vector<double>> flows_;
};

/// Finds where each record's bytes went.
class FlowFinder {
 public:
  FlowFinder(runtime::Engine& engine, Flows& flows)
      : engine_(engine),
        graph_(engine.device().graph()),
        slice_(engine.machine().hbm_slice().count()),
        spec_(device::PeSpec::of(engine.machine())),
        facts_(engine.books()),
        flows_(flows) {}

  void add(const OpRecord& r) {
    switch (r.kind) {
      case OpKind::dma_read:
      case OpKind::dma_write:
        return add_dma(r);
      case OpKind::load_scalar:
        return add_at(r, origin(r).program->address(command(r)), static_cast<std::int64_t>(r.amount), true);
      case OpKind::tile_dma_in:
      case OpKind::tile_dma_out:
        return add_tile(r);
      case OpKind::ipcq_send:
        return add_send(r);
      case OpKind::host_write:
      case OpKind::host_read:
        return add_host(r);
      case OpKind::ipcq_recv:
      case OpKind::gemm:
      case OpKind::math:
      case OpKind::tile_gemm:
      case OpKind::tile_math:
      case OpKind::program:
      case OpKind::host_map:
      case OpKind::host_launch:
        return;
    }
  }

 private:
  const device::Origin& origin(const OpRecord& r) { return facts_.origin(r.origin); }
  const isa::Command& command(const OpRecord& r) { return origin(r).program->command(r.command); }

  NodeId memory_of(address::PhysAddr address) const {
    const address::DecodedAddr at = address::decode(address);
    if (at.resource == address::Resource::Hbm)
      return graph_.hbm_ctrl({at.sip, at.cube, static_cast<int>(at.offset.count() / slice_)});
    if (at.resource == address::Resource::Sram) return graph_.sram(at.in_cube());
    return graph_.pe(at.at_pe(), NodeKind::pe_tcm);
  }

  /// Bytes one after the other, which may lie in several memories.
  void add_at(const OpRecord& r, std::uint64_t address, std::int64_t bytes, bool reads) {
    if (bytes <= 0) return;
    facts_.translate(r.origin, address::VirtAddr(address), Bytes(bytes), pieces_);
    for (const address::PhysPiece& piece : pieces_)
      add_between(r, memory_of(piece.begin), piece.size.count(), reads);
  }

  void add_between(const OpRecord& r, NodeId memory, std::int64_t bytes, bool reads) {
    const NodeId tcm = graph_.pe(origin(r).pe, NodeKind::pe_tcm);
    flows_.add(reads ? Flow{memory, tcm} : Flow{tcm, memory}, bytes, r.start, r.end);
  }

  void add_dma(const OpRecord& r) {
    const isa::Program& program = *origin(r).program;
    const isa::Command& c = command(r);
    const int size = itemsize(program.value(program.moved(c)).dtype);
    isa::for_each_segment(program, c, [&](const isa::Segment& segment) {
      add_at(r, segment.address, segment.elements * size, r.kind == OpKind::dma_read);
    });
  }

  /// A tile of a composite's operand or result: where its first byte lies.
  void add_tile(const OpRecord& r) {
    const isa::Program& p = *origin(r).program;
    const isa::CompositeSpec& spec = p.composite(command(r));
    Steps& done = steps_[std::uint64_t{r.origin} << 32 | r.command];
    if (!done.plan)
      done.plan = std::make_unique<data::TilePlan>(
          p.shape(spec.a)[0], p.shape(spec.b)[1], p.shape(spec.a)[1],
          data::TileShape{.m = spec_.tile.m, .n = spec_.tile.n, .k = spec_.tile.k});
    const bool reads = r.kind == OpKind::tile_dma_in;
    const auto [id, part] =
        reads ? next_read(p, spec, done) : std::pair(spec.out, done.plan->output(done.writes++));
    const isa::Strides strides = p.layout(id).strides;
    const std::int64_t at =
        (part.row_begin * strides[0] + part.column_begin * strides[1]) * itemsize(p.value(id).dtype);
    facts_.translate(r.origin, address::VirtAddr(p.address(id) + static_cast<std::uint64_t>(at)), Bytes(1),
                     pieces_);
    add_between(r, memory_of(pieces_.front().begin), static_cast<std::int64_t>(r.amount), reads);
  }

  struct Steps {
    std::unique_ptr<data::TilePlan> plan;
    std::int64_t reads = 0, writes = 0;
  };

  /// Operands that are read take turns, a before b.
  std::pair<isa::ValueId, data::Region> next_read(const isa::Program& p, const isa::CompositeSpec& spec,
                                                  Steps& done) {
    const auto referenced = [&](isa::ValueId id) { return p.value(id).kind == isa::ValueKind::reference; };
    const bool both = referenced(spec.a) && referenced(spec.b);
    const std::int64_t n = done.reads++;
    const std::int64_t step = std::min(both ? n / 2 : n, done.plan->steps() - 1);
    if (both ? n % 2 == 0 : referenced(spec.a)) return {spec.a, done.plan->a_part(step)};
    return {spec.b, done.plan->b_part(step)};
  }

  void add_send(const OpRecord& r) {
    const device::QueueUse& queues = *origin(r).queues;
    const int end = queues.ends[command(r).detail];
    const NodeId slot = memory_of(queues.at[static_cast<std::size_t>(end)].sends_to);
    const isa::ValueId sent = command(r).read[0];
    if (origin(r).program->value(sent).kind == isa::ValueKind::reference) return add_passed(r, sent, slot);
    add_between(r, slot, static_cast<std::int64_t>(r.amount), false);
  }

  /// A reference that is sent passes the engine on its way from memory to slot.
  void add_passed(const OpRecord& r, isa::ValueId sent, NodeId slot) {
    const isa::Program& program = *origin(r).program;
    const NodeId dma = graph_.pe(origin(r).pe, NodeKind::pe_dma);
    const int size = itemsize(program.value(sent).dtype);
    isa::for_each_segment(program, sent, [&](const isa::Segment& s) {
      facts_.translate(r.origin, address::VirtAddr(s.address), Bytes(s.elements * size), pieces_);
      for (const address::PhysPiece& piece : pieces_)
        flows_.add({memory_of(piece.begin), dma}, piece.size.count(), r.start, r.retired());
    });
    flows_.add({dma, slot}, static_cast<std::int64_t>(r.amount), r.start, r.end);
  }

  void add_host(const OpRecord& r) {
    const bool reads = r.kind == OpKind::host_read;
    for (const address::PhysPiece& piece : facts_.host_transfer(r).pieces) {
      const NodeId memory = memory_of(piece.begin);
      flows_.add(reads ? Flow{memory, graph_.host()} : Flow{graph_.host(), memory}, piece.size.count(),
                 r.start, r.end);
    }
  }

  runtime::Engine& engine_;
  const topology::Graph& graph_;
  const std::int64_t slice_;
  const device::PeSpec spec_;
  runtime::Facts facts_;
  Flows& flows_;
  std::unordered_map<std::uint64_t, Steps> steps_;
  std::vector<address::PhysPiece> pieces_;
};

std::vector<LinkSeries> by_link(const Flows& flows, const topology::Graph& graph) {
  std::map<LinkId, std::vector<double>> links;
  for (const auto& [flow, bytes] : flows.all())
    for (const LinkId link : graph.route(flow.from, flow.to)) {
      std::vector<double>& sums = links[link];
      if (sums.empty()) sums.resize(kBuckets);
      for (std::size_t i = 0; i < kBuckets; ++i) sums[i] += bytes[i];
    }
  std::vector<LinkSeries> series;
  for (auto& [link, bytes] : links) series.push_back({link, std::move(bytes)});
  return series;
}

void keep_most(std::vector<LinkSeries>& series) {
  if (series.size() <= kMostSeries) return;
  const auto sum = [](const LinkSeries& s) { return std::accumulate(s.bytes.begin(), s.bytes.end(), 0.0); };
  std::ranges::stable_sort(series, std::greater(), sum);
  series.resize(kMostSeries);
  std::ranges::sort(series, {}, &LinkSeries::link);
}

}  // namespace

LinkLoads link_loads(runtime::Engine& engine, const trace::RunLog& log, Time end) {
  LinkLoads loads{.bucket = Time::from_ps(std::max<std::int64_t>(1, (end.ps() + kBuckets - 1) / kBuckets)),
                  .series = {}};
  Flows flows(loads.bucket);
  FlowFinder finder(engine, flows);
  trace::in_total_order(log.recording().records, [&](trace::OpId, const OpRecord& r) { finder.add(r); });
  loads.series = by_link(flows, engine.device().graph());
  keep_most(loads.series);
  return loads;
}

}  // namespace kernbench::report
