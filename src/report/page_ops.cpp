#include "report/page_ops.hpp"

#include <tuple>

namespace kernbench::report {
namespace {

/// Numbers names in the order in which they come.
class Numbered {
 public:
  explicit Numbered(std::vector<std::string>& names) : names_(names) {}
  int operator()(std::string_view name) {
    const auto known = numbers_.find(name);
    if (known != numbers_.end()) return known->second;
    names_.emplace_back(name);
    return numbers_.emplace(name, static_cast<int>(names_.size()) - 1).first->second;
  }

 private:
  std::vector<std::string>& names_;
  std::map<std::string, int, std::less<>> numbers_;
};

class Tracks {
 public:
  explicit Tracks(std::vector<PageTrack>& tracks) : tracks_(tracks) {}
  int operator()(const PeCoord& pe, std::string_view component) {
    const auto [at, fresh] = numbers_.try_emplace({pe.sip, pe.cube, pe.pe, std::string(component)},
                                                  static_cast<int>(tracks_.size()));
    if (fresh) tracks_.push_back({pe, std::string(component)});
    return at->second;
  }

 private:
  std::vector<PageTrack>& tracks_;
  std::map<std::tuple<int, int, int, std::string>, int> numbers_;
};

/// Matrix and vector units work in their third phase: before it they wait and fetch, after it they store.
void mark_busy(PageOp& op, std::string_view engine, const SavedOp& saved) {
  if (engine.empty()) return;
  op.busy_begin = saved.start;
  op.busy_end = saved.end;
  if (engine != "gemm" && engine != "math") return;
  op.busy_begin = saved.start + saved.phases[0] + saved.phases[1];
  op.busy_end = op.busy_begin + saved.phases[2];
}

}  // namespace

std::string_view busy_engine(std::string_view kind) {
  if (kind == "gemm" || kind == "tile_gemm") return "gemm";
  if (kind == "math" || kind == "tile_math") return "math";
  if (kind == "dma_read" || kind == "tile_dma_in" || kind == "load_scalar") return "dma_read";
  if (kind == "dma_write" || kind == "tile_dma_out") return "dma_write";
  if (kind == "ipcq_send") return "queue";
  return {};
}

PageOps read_ops(const SavedRun& run) {
  PageOps all;
  Numbered kind(all.kinds), reason(all.reasons);
  Tracks track(all.tracks);
  run.for_each_op([&](const SavedOp& saved) {
    PageOp op{.id = saved.id,
              .track = track(saved.pe, saved.component),
              .kind = kind(saved.kind),
              .reason = reason(saved.reason),
              .line = saved.line.value_or(-1),
              .cause = saved.cause.value_or(-1),
              .start = saved.start,
              .end = saved.end,
              .busy_begin = {},
              .busy_end = {}};
    mark_busy(op, busy_engine(saved.kind), saved);
    all.phase_sums.resize(all.kinds.size());
    for (std::size_t i = 0; i < 4; ++i)
      all.phase_sums[static_cast<std::size_t>(op.kind)][i] += saved.phases[i];
    all.ops.push_back(op);
  });
  return all;
}

}  // namespace kernbench::report
