// Placements of one's own: dealt tiles, heads, interleaved pages, shards given by hand.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "kernbench/error.hpp"
#include "runtime/layout.hpp"

namespace kernbench::runtime {
namespace {

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

[[noreturn]] void refuse(const char* id, std::string what, std::string hint) {
  throw InputError({id, "", std::move(what), std::move(hint)});
}

std::string text_of(const OwnPlacement& own) {
  return std::visit(
      Overloaded{
          [](const DealtTiles& d) { return fmt::format("tiles of {} × {}, dealt", d.tile.h, d.tile.w); },
          [](const HeadGroups& h) { return fmt::format("{} heads on {} PEs each", h.heads, h.pes); },
          [](const InterleavedPages& p) {
            return fmt::format("interleaved pages of {} bytes", p.page.count());
          },
          [](const GivenShards& s) { return fmt::format("{} shards given", s.size()); }},
      own);
}

std::string text_of(const DPPolicy& policy, const char* level) {
  const bool cubes = std::string_view(level) == "cubes";
  const Split split = cubes ? policy.cube : policy.pe;
  const int first = cubes ? policy.first_cube : policy.first_pe;
  const auto& count = cubes ? policy.num_cubes : policy.num_pes;
  const std::string which = count       ? fmt::format("{} {} … {}", level, first, first + *count - 1)
                            : first > 0 ? fmt::format("{} from {} on", level, first)
                                        : fmt::format("all {}", level);
  return fmt::format("{} over {}", to_string(split), which);
}

}  // namespace

std::string to_string(const DPPolicy& policy) {
  if (policy.own) return text_of(*policy.own);
  if (policy.num_cubes == 1 && policy.num_pes == 1)
    return fmt::format("whole on cube {}, PE {}", policy.first_cube, policy.first_pe);
  const std::string tile =
      policy.tile ? fmt::format(", tiles of {} × {}", policy.tile->h, policy.tile->w) : "";
  return text_of(policy, "cubes") + ", " + text_of(policy, "PEs") + tile;
}

void Layout::check_own(const DPPolicy& policy) const {
  if (policy.cube != Split::replicate || policy.pe != Split::replicate || policy.tile)
    refuse("placement.combination", fmt::format("{} and splits in one policy", text_of(*policy.own)),
           "leave cube, pe and tile out");
  const bool on = policy.first_cube != 0 || policy.first_pe != 0 || policy.num_cubes || policy.num_pes;
  const auto* dealt = std::get_if<DealtTiles>(&*policy.own);
  const bool names_pes = std::holds_alternative<GivenShards>(*policy.own) ||
                         (dealt != nullptr && !std::holds_alternative<Zigzag>(dealt->order.any()));
  if (on && names_pes)
    refuse("placement.combination",
           fmt::format("{} to PEs that are named, and a part of the SIP", text_of(*policy.own)),
           "leave on(…) out, or deal in zigzag order");
}

PePlace Layout::checked(PePlace at, std::int64_t tile) const {
  if (at.cube >= 0 && at.cube < machine_cubes_ && at.pe >= 0 && at.pe < machine_pes_) return at;
  refuse("placement.no-such-pe", fmt::format("piece {} goes to cube {} PE {}", tile, at.cube, at.pe),
         fmt::format("the machine has cubes 0 to {} and PEs 0 to {} of each", machine_cubes_ - 1,
                     machine_pes_ - 1));
}

std::vector<PePlace> Layout::pes_of_policy() const {
  std::vector<PePlace> pes;
  for (int cube = cube_.first; cube < cube_.first + cube_.count; ++cube)
    for (int pe = pe_.first; pe < pe_.first + pe_.count; ++pe) pes.push_back({cube, pe});
  return pes;
}

void Layout::add_hands(const std::vector<Rects>& hands) {
  for (int cube = 0; cube < machine_cubes_; ++cube)
    for (int pe = 0; pe < machine_pes_; ++pe)
      if (const Rects& hand = hands[index({cube, pe})]; !hand.empty()) {
        holders_.push_back({cube, pe, static_cast<std::uint32_t>(blocks_.size())});
        add_block(hand);
      }
}

namespace {

/// Who gets a tile; `pes` are those of the policy.
PePlace receiver(const DealOrder& order, TileIndex tile, const std::vector<PePlace>& pes) {
  const auto n = static_cast<std::int64_t>(pes.size());
  const auto zigzagged = [&](Zigzag) {
    const std::int64_t turn = tile.number / n, i = tile.number % n;
    return pes[static_cast<std::size_t>(turn % 2 == 0 ? i : n - 1 - i)];
  };
  const auto listed = [&](const std::vector<PePlace>& list) {
    if (list.empty()) refuse("placement.deal", "tiles are dealt to an empty list", "name one PE at least");
    return list[static_cast<std::size_t>(tile.number) % list.size()];
  };
  const auto called = [&](const std::shared_ptr<const DealOrder::Function>& fn) { return (*fn)(tile); };
  return std::visit(Overloaded{zigzagged, listed, called}, order.any());
}

}  // namespace

void Layout::place(const DealtTiles& dealt) {
  const auto [h, w] = dealt.tile;
  if (h < 1 || w < 1)
    refuse("placement.tile", fmt::format("tiles of {} × {}", h, w), "rows and columns are above 0");
  const std::int64_t down = (rows_ + h - 1) / h, across = (cols_ + w - 1) / w;
  const auto pes = pes_of_policy();
  std::vector<Rects> hands(index({machine_cubes_, 0}));
  for (std::int64_t i = 0; i < down * across; ++i) {
    const TileIndex tile{i, i / across, i % across};
    const PePlace at = checked(receiver(dealt.order, tile, pes), i);
    const std::int64_t row = tile.row * h, col = tile.col * w;
    hands[index(at)].push_back({row, col, std::min(h, rows_ - row), std::min(w, cols_ - col)});
  }
  add_hands(hands);
}

void Layout::place(const HeadGroups& groups) {
  if (groups.heads < 1 || groups.pes < 1)
    refuse("placement.heads", fmt::format("{} heads on {} PEs each", groups.heads, groups.pes),
           "both are above 0");
  const std::int64_t length =  // of a head's part, in rows
      shape_.rank() >= 3 ? shape_[shape_.rank() - 2] : std::max<std::int64_t>(rows_ / groups.heads, 1);
  if (rows_ % (length * groups.heads) != 0)
    refuse("placement.heads", fmt::format("{} does not hold {} heads", to_string(shape_), groups.heads),
           "its shape is (…, heads, S, d), or (heads · S, d)");
  const auto pes = pes_of_policy();
  const std::int64_t each = (length + groups.pes - 1) / groups.pes;
  std::vector<Rects> hands(index({machine_cubes_, 0}));
  for (std::int64_t part = 0; part < rows_ / length; ++part)
    for (std::int64_t i = 0; i * each < length; ++i) {
      const auto pe = static_cast<std::size_t>(part % groups.heads * groups.pes + i) % pes.size();
      hands[index(pes[pe])].push_back(
          {part * length + i * each, 0, std::min(each, length - i * each), cols_});
    }
  add_hands(hands);
}

Layout::Rects Layout::rects_of(std::int64_t begin, std::int64_t end) const {
  Rects rects;
  while (begin < end) {
    const std::int64_t row = begin / cols_, col = begin % cols_;
    const bool whole_rows = col == 0 && end - begin >= cols_;
    const std::int64_t rows = whole_rows ? (end - begin) / cols_ : 1;
    const std::int64_t cols = whole_rows ? cols_ : std::min(cols_ - col, end - begin);
    rects.push_back({row, col, rows, cols});
    begin += rows * cols;
  }
  return rects;
}

void Layout::place(const InterleavedPages& pages) {
  const std::int64_t page = pages.page.count();
  if (page < 1 || page % itemsize_ != 0)
    refuse("placement.page", fmt::format("pages of {} bytes", page),
           fmt::format("a multiple of the {} bytes of an element", itemsize_));
  interleaved_ = true;
  const auto pes = pes_of_policy();
  const std::int64_t each = page / itemsize_, all = rows_ * cols_;
  for (std::int64_t i = 0; i * each < all; ++i) {
    const PePlace at = pes[static_cast<std::size_t>(i) % pes.size()];
    holders_.push_back({at.cube, at.pe, static_cast<std::uint32_t>(i)});
    add_block(rects_of(i * each, std::min(all, (i + 1) * each)));
  }
}

/// The pieces, each once and sorted, are the whole tensor.
void Layout::check_complete(const GivenShards& pieces) const {
  std::int64_t covered = 0;
  const auto range = [](std::int64_t from, std::int64_t to) {
    return fmt::format("bytes {} to {}", from, to);
  };
  const auto gap = [&](std::int64_t to) {
    refuse("placement.gap", fmt::format("nobody holds {} of {}", range(covered, to), to_string(shape_)),
           "give a shard for every byte of the tensor, in row-major order");
  };
  for (const ShardSpec& s : pieces) {
    const std::int64_t begin = s.offset_bytes.count(), end = begin + s.nbytes.count();
    if (begin < 0 || s.nbytes.count() <= 0 || end > bytes() || begin % itemsize_ != 0 || end % itemsize_ != 0)
      refuse("placement.shard",
             fmt::format("a shard of {} on cube {} PE {}", range(begin, end), s.cube, s.pe),
             fmt::format("{} has {} bytes, in elements of {}", to_string(shape_), bytes(), itemsize_));
    if (begin < covered)
      refuse("placement.overlap",
             fmt::format("shards overlap: {} of cube {} PE {} begin inside another one", range(begin, end),
                         s.cube, s.pe),
             "two shards are copies of the same bytes, or have none in common");
    if (begin > covered) gap(begin);
    covered = end;
  }
  if (covered < bytes()) gap(bytes());
}

/// Pieces that the same PEs hold are one block.
void Layout::place(const GivenShards& shards) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<PePlace>> pieces;  // by offset and size
  for (const ShardSpec& s : shards)
    pieces[{s.offset_bytes.count(), s.nbytes.count()}].push_back(checked({s.cube, s.pe}, &s - shards.data()));
  GivenShards each_once;
  std::map<std::vector<PePlace>, Rects> blocks;  // by who holds them
  for (auto& [range, who] : pieces) {
    const auto [offset, size] = range;
    std::ranges::sort(who);
    if (const auto twice = std::ranges::adjacent_find(who); twice != who.end())
      refuse("placement.overlap",
             fmt::format("cube {} PE {} is given the same bytes twice", twice->cube, twice->pe),
             "name each shard once");
    each_once.push_back({0, who.front().cube, who.front().pe, Bytes(offset), Bytes(size)});
    for (const Rect& rect : rects_of(offset / itemsize_, (offset + size) / itemsize_))
      blocks[who].push_back(rect);
  }
  check_complete(each_once);
  for (const auto& [who, rects] : blocks) {
    for (const PePlace at : who)
      holders_.push_back({at.cube, at.pe, static_cast<std::uint32_t>(blocks_.size())});
    add_block(rects);
  }
}

}  // namespace kernbench::runtime
