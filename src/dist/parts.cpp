#include "dist/parts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kernbench::dist {
namespace {

using ccl::Collective;
using runtime::Holder;
using runtime::Layout;
using runtime::Rect;

[[noreturn]] void reject(const Invocation& call, std::string what, std::string hint) {
  throw InputError({"dist.layout", call.name, std::move(what), std::move(hint)});
}

std::string text_of(const Tensor& t) {
  return fmt::format("'{}' {}{}", t.name(), to_string(t.dtype()), to_string(t.shape()));
}

/// What a member has of a tensor, and what one of its PEs works on.
struct Share {
  Rect whole, own;
  bool alone = true;  // that PE works on all of it
};

/// The smallest rectangle around both.
Rect around(const Rect& a, const Rect& b) {
  if (a.rows == 0) return b;
  const auto row = std::min(a.row, b.row), col = std::min(a.col, b.col);
  return {row, col, std::max(a.row + a.rows, b.row + b.rows) - row,
          std::max(a.col + a.cols, b.col + b.cols) - col};
}

std::optional<Share> share_of(const Layout& layout, ccl::Group group, const Holder& pe) {
  Share share{{}, {}};
  for (const Holder& h : workers(layout, group)) {
    if (!same_member(group, h, pe)) continue;
    const auto tiles = layout.tiles(layout.blocks()[h.block]);
    if (tiles.size() != 1) return std::nullopt;
    const bool own = h.cube == pe.cube && h.pe == pe.pe;
    share.whole = around(share.whole, tiles.front().rect);
    if (own) share.own = tiles.front().rect;
    if (!own) share.alone = false;
  }
  if (share.own.rows == 0) return std::nullopt;
  return share;
}

std::int64_t elements(const Rect& r) { return r.rows * r.cols; }

bool fits(const std::optional<Share>& one, const std::optional<Share>& all, std::int64_t parts) {
  if (!one || !all || elements(all->own) != parts * elements(one->own)) return false;
  if (one->alone && all->alone) return true;
  const auto all_rows = [](const Share& s) { return s.own.rows == s.whole.rows; };
  return all_rows(*one) && all_rows(*all) && all->whole.rows == parts * one->whole.rows &&
         one->own.col - one->whole.col == all->own.col - all->whole.col && one->own.cols == all->own.cols;
}

/// In an all_to_all both have parts, and a part must be whole rows of what the PE holds.
bool divides(const std::optional<Share>& share, std::int64_t parts) {
  if (!share) return false;
  if (share->alone) return elements(share->own) % parts == 0;
  return share->own.rows == share->whole.rows && share->own.rows % parts == 0;
}

bool same_workers(const Layout& a, const Layout& b, ccl::Group group) {
  const auto same = [](const Holder& x, const Holder& y) { return x.cube == y.cube && x.pe == y.pe; };
  return std::ranges::equal(workers(a, group), workers(b, group), same);
}

}  // namespace

void check_parts(const State& state, const Invocation& call, const GroupKey& group) {
  if (!call.has_parts()) return;
  const Tensor &in = call.tensors.front(), &out = call.tensors.back();
  const std::int64_t n = members(state, call, group);
  const bool gathers = call.collective == Collective::all_gather;
  const Tensor &one = gathers ? in : out, &all = gathers ? out : in;
  const std::int64_t times = call.collective == Collective::all_to_all ? 1 : n;
  if (in.dtype() != out.dtype() || all.shape().elements() != times * one.shape().elements())
    reject(call, fmt::format("{} and {}, with {} members", text_of(in), text_of(out), n),
           times == 1
               ? "both have the same dtype and number of elements"
               : fmt::format("both have the same dtype, and {} has {} times the elements of {}",
                             gathers ? "the output" : "the input", n, gathers ? "the input" : "the output"));
  const Layout &of_one = one.state()->layout(), &of_all = all.state()->layout();
  bool fit = same_workers(of_one, of_all, group.kind);
  for (const Holder& pe : workers(of_one, group.kind)) {
    if (!fit) break;
    const auto small = share_of(of_one, group.kind, pe), large = share_of(of_all, group.kind, pe);
    fit = fits(small, large, times) && (times != 1 || divides(large, n));
  }
  if (!fit)
    reject(call,
           fmt::format("{} and {} do not lie so that every PE has what it needs of both", text_of(in),
                       text_of(out)),
           "keep both whole on one PE of a member, or split the columns alike and no rows");
}

}  // namespace kernbench::dist
