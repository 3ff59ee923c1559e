#include "bench/lower_bound.hpp"

#include <fmt/format.h>

namespace kernbench::bench {
namespace {

using topology::NodeKind;

/// Keeps the largest; the name is made only for that.
class Largest {
 public:
  template <class Name>
  void consider(Time time, Name&& name) {
    if (time <= bound_.time) return;
    bound_ = {time, name(), {}};
  }
  const LowerBound& bound() const { return bound_; }

 private:
  LowerBound bound_;
};

}  // namespace

LowerBound lower_bound(const Workload& work) {
  const topology::Graph& graph = work.graph();
  Largest largest;
  for (const PeWork& pe : work.pes()) {
    const auto part = [&](NodeKind kind) { return [&, kind] { return graph.path(graph.pe(pe.pe, kind)); }; };
    largest.consider(pe.gemm, part(NodeKind::pe_gemm));
    largest.consider(pe.math, part(NodeKind::pe_math));
    largest.consider(pe.issue, part(NodeKind::pe_cpu));
    largest.consider(pe.window, [&] { return part(NodeKind::pe_dma)() + " (window)"; });
  }
  for (const auto& [slice, bytes] : work.slices())
    largest.consider(work.slice_bandwidth().time_for(bytes),
                     [&, slice = slice] { return graph.path(slice); });
  for (const auto& [id, bytes] : work.needed()) {
    const topology::Link link = graph.link(id);
    largest.consider(link.bandwidth.time_for(bytes),
                     [&] { return fmt::format("{} → {}", graph.path(link.from), graph.path(link.to)); });
  }
  const Workload::Message& message = work.longest_message();
  largest.consider(message.time, [&] {
    return fmt::format("one message of {} between {} and {}", to_string(message.bytes),
                       graph.path(message.from), graph.path(message.to));
  });
  LowerBound bound = largest.bound();
  bound.without = work.left_out();
  return bound;
}

}  // namespace kernbench::bench
