#include "nn/placed.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/engine.hpp"

namespace kernbench::nn {

Placed::Placed(const Tensor& tensor)
    : layout_(tensor.state()->layout()), rows_(layout_.rows()), cols_(layout_.cols()) {
  for (const auto& h : layout_.holders())
    if (const PePlace at{h.cube, h.pe}; pes_.empty() || pes_.back() != at) pes_.push_back(at);
  kind_ = kind_of();
}

std::vector<Rect> Placed::at(PePlace pe) const {
  std::vector<Rect> rects;
  for (const auto& h : layout_.holders_at(pe))
    for (const LayoutTile& tile : layout_.tiles(layout_.blocks()[h.block])) rects.push_back(tile.rect);
  return rects;
}

bool Placed::is_whole_at(PePlace pe) const {
  const auto rects = at(pe);
  return rects.size() == 1 && rects.front() == Rect{0, 0, rows_, cols_};
}

PlacedKind Placed::kind_of() const {
  if (layout_.is_interleaved()) return PlacedKind::other;
  if (std::ranges::all_of(pes_, [&](PePlace pe) { return is_whole_at(pe); }))
    return pes_.size() == 1 ? PlacedKind::whole : PlacedKind::replicated;
  bool one = true, columns = true, rows = true;
  for (const PePlace pe : pes_) {
    const auto rects = at(pe);
    one &= rects.size() == 1;
    for (const Rect& r : rects) columns &= r.rows == rows_, rows &= r.cols == cols_;
  }
  if (one && columns) return PlacedKind::columns;
  if (rows) return one ? PlacedKind::rows : PlacedKind::row_tiles;
  return PlacedKind::other;
}

bool Placed::has_whole_rows() const {
  return !layout_.is_interleaved() && std::ranges::all_of(pes_, [&](PePlace pe) {
    return std::ranges::all_of(at(pe), [&](const Rect& r) { return r.cols == cols_; });
  });
}

bool Placed::lies_like(const Placed& other) const {
  return pes_ == other.pes_ && rows_ == other.rows_ && cols_ == other.cols_ &&
         std::ranges::all_of(pes_, [&](PePlace pe) { return at(pe) == other.at(pe); });
}

std::optional<Placed::Rectangle> Placed::rectangle() const {
  const PePlace first = pes_.front(), last = pes_.back();
  const int cubes = last.cube - first.cube + 1, pes = last.pe - first.pe + 1;
  if (pes < 1 || static_cast<int>(pes_.size()) != cubes * pes) return std::nullopt;
  for (std::size_t i = 0; i < pes_.size(); ++i) {
    const int n = static_cast<int>(i);
    if (pes_[i] != PePlace{first.cube + n / pes, first.pe + n % pes}) return std::nullopt;
  }
  return Rectangle{first, cubes, pes};
}

namespace {

std::string words_of(const Placed& placed) {
  const auto over = [&](const char* how) { return fmt::format("{} over {} PEs", how, placed.pes().size()); };
  switch (placed.kind()) {
    case PlacedKind::whole:
      return fmt::format("whole on cube {} PE {}", placed.pes().front().cube, placed.pes().front().pe);
    case PlacedKind::replicated:
      return over("replicated");
    case PlacedKind::columns:
      return over("column-wise");
    case PlacedKind::rows:
      return over("row-wise");
    case PlacedKind::row_tiles:
      return over("tiles of whole rows");
    case PlacedKind::other:
      return over("in another way");
  }
  KB_ASSERT(false, "a kind of layout without words");
  return {};
}

}  // namespace

std::string text_of(const Tensor& tensor) {
  const auto what =
      fmt::format("'{}' {}{}", tensor.name(), to_string(tensor.dtype()), to_string(tensor.shape()));
  if (tensor.state()->layout().is_interleaved()) return what + " interleaved";
  return what + " " + words_of(Placed(tensor));
}

DPPolicy same_columns(const Tensor& like, std::int64_t rows) {
  DPPolicy policy = like.dp();
  if (!policy.own) return policy;
  if (auto* dealt = std::get_if<runtime::DealtTiles>(&*policy.own)) {
    dealt->tile.h = rows;
    return policy;
  }
  const auto placed = Placed(like).pes();
  if (placed.size() == 1) return DPPolicy::whole_on(placed.front());
  throw InputError({"nn.layout", like.name(),
                    "its columns were given by hand, so that a result cannot be laid out alike",
                    "use a policy of axes or DPPolicy::dealt"});
}

DPPolicy same_rows(const Tensor& like, std::int64_t cols, DType dtype) {
  DPPolicy policy = like.dp();
  if (!policy.own) return policy;
  if (auto* dealt = std::get_if<runtime::DealtTiles>(&*policy.own)) dealt->tile.w = cols;
  if (auto* given = std::get_if<runtime::GivenShards>(&*policy.own)) {
    const std::int64_t row = like.shape()[like.shape().rank() - 1] * like.itemsize();
    const std::int64_t row_now = cols * itemsize(dtype);
    for (ShardSpec& s : *given)
      s.offset_bytes = Bytes(s.offset_bytes.count() / row * row_now),
      s.nbytes = Bytes(s.nbytes.count() / row * row_now);
  }
  return policy;
}

DPPolicy spread(const Torch& torch, Split split, std::int64_t extent) {
  return spread(torch.machine(), split, extent);
}

DPPolicy spread(const topology::Machine& machine, Split split, std::int64_t extent) {
  const int cubes = machine.cubes(), pes = machine.pes();
  DPPolicy best = DPPolicy::whole();
  best.cube = best.pe = split;
  for (int c = 1; c <= cubes; ++c)
    for (int p = 1; p <= pes; ++p) {
      const int now = *best.num_cubes * *best.num_pes;
      // As many PEs in fewer cubes have shorter ways.
      if (extent % (c * p) == 0 && c * p > now) best.num_cubes = c, best.num_pes = p;
    }
  return best;
}

}  // namespace kernbench::nn
