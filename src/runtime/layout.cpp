#include "runtime/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/text.hpp"
#include "kernbench/error.hpp"

namespace kernbench::runtime {
namespace {

constexpr std::array<std::string_view, 5> kSplits = {"replicate", "column_wise", "row_wise",
                                                     "tiled_column_major", "tiled_row_major"};

bool is_tiled(Split s) { return s == Split::tiled_column_major || s == Split::tiled_row_major; }

[[noreturn]] void reject(const char* id, std::string what, std::string hint) {
  throw InputError({id, "", std::move(what), std::move(hint)});
}

}  // namespace

std::string_view to_string(Split split) { return kSplits[static_cast<std::size_t>(split)]; }

Split parse_split(std::string_view name) {
  for (std::size_t i = 0; i < kSplits.size(); ++i)
    if (kSplits[i] == name) return static_cast<Split>(i);
  const std::vector<std::string> known(kSplits.begin(), kSplits.end());
  reject("placement.split", fmt::format("unknown split '{}'", name), suggest(name, known, "splits"));
}

Layout::Layout(const DPPolicy& policy, const Shape& shape, int itemsize, int num_pes, int num_cubes)
    : shape_(shape),
      itemsize_(itemsize),
      machine_pes_(num_pes),
      machine_cubes_(num_cubes),
      cube_{policy.cube, policy.first_cube, policy.num_cubes.value_or(num_cubes - policy.first_cube)},
      pe_{policy.pe, policy.first_pe, policy.num_pes.value_or(num_pes - policy.first_pe)},
      tile_(policy.tile.value_or(TileSize{})) {
  if (shape.elements() == 0)
    reject("placement.shape", fmt::format("{} has no elements", to_string(shape)),
           "every extent must be above 0");
  cols_ = shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
  rows_ = shape.elements() / cols_;
  check_counts(policy, num_pes, num_cubes);
  if (policy.own) {
    check_own(policy);
    std::visit([this](const auto& own) { place(own); }, *policy.own);
  } else {
    check_combination(policy);
    place_by_axes(policy);
  }
  finish();
}

void Layout::place_by_axes(const DPPolicy& policy) {
  // A vector has but one axis, and that is both its first and its last.
  if (shape_.rank() == 1 && cube_.split == Split::row_wise) cube_.split = Split::column_wise;
  if (shape_.rank() == 1 && pe_.split == Split::row_wise) pe_.split = Split::column_wise;
  check_divides(policy);
  const std::vector<Rects> of_cubes = deal({Rect{0, 0, rows_, cols_}}, cube_);
  std::vector<std::uint32_t> first_block;  // of what each cube has
  for (const Rects& rects : of_cubes) {
    first_block.push_back(static_cast<std::uint32_t>(blocks_.size()));
    for (const Rects& mine : deal(rects, pe_)) add_block(mine);
  }
  for (int cube = 0; cube < cube_.count; ++cube)
    for (int pe = 0; pe < pe_.count; ++pe) {
      const auto block = first_block[cube_.is_split() ? static_cast<std::size_t>(cube) : 0] +
                         static_cast<std::uint32_t>(pe_.is_split() ? pe : 0);
      if (blocks_[block].bytes > 0) holders_.push_back({cube_.first + cube, pe_.first + pe, block});
    }
}

/// Everything is placed: the order of holders, and what follows from them.
void Layout::finish() {
  std::ranges::stable_sort(holders_, {}, [](const Holder& h) { return std::tuple(h.cube, h.pe, h.block); });
  const auto held = std::ranges::count_if(blocks_, [](const LayoutBlock& b) { return b.bytes > 0; });
  replicated_ = static_cast<std::ptrdiff_t>(holders_.size()) > held;
}

std::span<const Holder> Layout::holders_at(PePlace pe) const {
  const auto found = std::ranges::equal_range(holders_, pe, {}, [](const Holder& h) {
    return PePlace{h.cube, h.pe};
  });
  return {found.begin(), found.end()};
}

void Layout::check_counts(const DPPolicy& policy, int num_pes, int num_cubes) const {
  const auto check = [](const char* what, const char* one, const Level& level,
                        const std::optional<int>& asked, int there) {
    if (level.first < 0 || level.first >= there)
      reject("placement.count", fmt::format("{} {} does not exist", one, level.first),
             fmt::format("the machine has {}s 0 to {}", one, there - 1));
    if (level.count >= 1 && level.first + level.count <= there) return;
    if (level.first == 0)
      reject("placement.count", fmt::format("{} is {}", what, *asked),
             fmt::format("the machine has 1 to {}", there));
    reject("placement.count", fmt::format("{} {}s from {} {} on", level.count, one, one, level.first),
           fmt::format("the machine has {}s 0 to {}", one, there - 1));
  };
  check("num_cubes", "cube", cube_, policy.num_cubes, num_cubes);
  check("num_pes", "PE", pe_, policy.num_pes, num_pes);
}

void Layout::check_combination(const DPPolicy& policy) const {
  const bool tiled = is_tiled(policy.cube) || is_tiled(policy.pe);
  if (tiled && !(tile_.h > 0 && tile_.w > 0))
    reject("placement.tile",
           fmt::format("{} without a tile", to_string(is_tiled(policy.cube) ? policy.cube : policy.pe)),
           "give tile = {rows, columns}, both above 0");
  if (!tiled && policy.tile)
    reject("placement.tile", "a tile is given, but neither axis is tiled",
           "leave it out, or use tiled_column_major or tiled_row_major");
  if (is_tiled(policy.cube) && policy.pe != Split::replicate && policy.pe != policy.cube)
    reject("placement.combination",
           fmt::format("cube = {} with pe = {}: the tiles of a cube are no rectangle that could be cut",
                       to_string(policy.cube), to_string(policy.pe)),
           fmt::format("use pe = {} or replicate", to_string(policy.cube)));
}

/// Every cut of an axis must divide what is left of it, so the divisors of an axis multiply.
void Layout::check_divides(const DPPolicy& policy) const {
  for (const bool columns : {false, true}) {
    std::int64_t divisor = 1;
    std::string cause;
    const auto add = [&](std::int64_t n, std::string why) {
      if (n == 1) return;
      divisor *= n;
      cause += (cause.empty() ? "" : ", ") + std::move(why);
    };
    const Split cut = columns ? Split::column_wise : Split::row_wise;
    if (cube_.split == cut)
      add(cube_.count, fmt::format("{} over {} cubes", to_string(policy.cube), cube_.count));
    if (pe_.split == cut) add(pe_.count, fmt::format("{} over {} PEs", to_string(policy.pe), pe_.count));
    if (policy.tile)
      add(columns ? tile_.w : tile_.h,
          fmt::format("tiles of {} {}", columns ? tile_.w : tile_.h, columns ? "columns" : "rows"));
    check_axis(columns, divisor, cause);
  }
}

void Layout::check_axis(bool columns, std::int64_t divisor, const std::string& cause) const {
  const std::int64_t extent = columns ? cols_ : rows_;
  if (extent % divisor == 0) return;
  const int axis = columns ? std::max(shape_.rank() - 1, 0) : 0;
  if (shape_.rank() == 0 || (!columns && shape_.rank() == 1))
    reject("placement.uneven",
           fmt::format("{}: {} has one {} only", cause, to_string(shape_), columns ? "column" : "row"),
           "use replicate, or fewer");
  // The rows of a shape of rank > 2 are several axes together; the first one is changed.
  const std::int64_t step = divisor / std::gcd(divisor, extent / shape_[axis]);
  const auto with = [&](std::int64_t n) {
    std::vector<std::int64_t> extents(shape_.begin(), shape_.end());
    extents[static_cast<std::size_t>(axis)] = n;
    return to_string(Shape(extents));
  };
  const std::int64_t below = shape_[axis] / step * step;
  const std::string nearest = below > 0 ? with(below) + " and " + with(below + step) : with(step);
  reject("placement.uneven",
         fmt::format("{}: axis {} of {} has {} {}, which {} does not divide", cause, axis, to_string(shape_),
                     extent, columns ? "columns" : "rows", divisor),
         fmt::format("nearest shapes that work: {}", nearest));
}

/// What each of a level's members gets; one entry if all get the same.
std::vector<Layout::Rects> Layout::deal(const Rects& whole, const Level& level) const {
  if (level.split == Split::replicate) return {whole};
  const auto count = static_cast<std::size_t>(level.count);
  std::vector<Rects> hands(count);
  if (is_tiled(level.split)) {
    const bool cut_already = is_tiled(cube_.split) && &level == &pe_;
    const Rects tiles = cut_already ? whole : tiles_of(whole.front(), level.split);
    for (std::size_t i = 0; i < tiles.size(); ++i) hands[i % count].push_back(tiles[i]);
    return hands;
  }
  const Rect& all = whole.front();
  for (std::size_t i = 0; i < count; ++i) {
    Rect part = all;
    const bool columns = level.split == Split::column_wise;
    std::int64_t& extent = columns ? part.cols : part.rows;
    extent /= level.count;
    (columns ? part.col : part.row) += static_cast<std::int64_t>(i) * extent;
    hands[i].push_back(part);
  }
  return hands;
}

Layout::Rects Layout::tiles_of(const Rect& whole, Split order) const {
  Rects tiles;
  const std::int64_t down = whole.rows / tile_.h, across = whole.cols / tile_.w;
  for (std::int64_t i = 0; i < down * across; ++i) {
    const bool down_first = order == Split::tiled_row_major;
    const std::int64_t r = down_first ? i % down : i / across, c = down_first ? i / down : i % across;
    tiles.push_back({whole.row + r * tile_.h, whole.col + c * tile_.w, tile_.h, tile_.w});
  }
  return tiles;
}

void Layout::add_block(const Rects& rects) {
  const std::int64_t begin = blocks_.empty() ? 0 : blocks_.back().offset + blocks_.back().bytes;
  LayoutBlock block{begin, 0, static_cast<std::uint32_t>(tiles_.size()),
                    static_cast<std::uint32_t>(rects.size())};
  for (const Rect& rect : rects) {
    tiles_.push_back({rect, begin + block.bytes});
    block.bytes += rect.rows * rect.cols * itemsize_;
  }
  blocks_.push_back(block);
}

void Layout::move_to(int cube, int pe) {
  if (holders_.size() != 1 || interleaved_)
    reject("placement.one-pe",
           fmt::format("{} cubes × {} PEs, but the device is one PE", cube_.count, pe_.count),
           "leave the policy out: a tensor lies whole on its PE");
  holders_.front() = {cube, pe, holders_.front().block};
}

Shape Layout::extents(const Rect& rect) const {
  return shape_.rank() == 0 ? Shape() : shape_.rank() == 1 ? Shape{rect.cols} : Shape{rect.rows, rect.cols};
}

Shape Layout::origin(const Rect& rect) const {
  return shape_.rank() == 0 ? Shape() : shape_.rank() == 1 ? Shape{rect.col} : Shape{rect.row, rect.col};
}

std::vector<ShardSpec> resolve_dp_policy(const DPPolicy& policy, const Shape& shape, int itemsize, int num_pe,
                                         int num_cubes, int target_sip) {
  return shard_specs(Layout(policy, shape, itemsize, num_pe, num_cubes), target_sip);
}

std::vector<ShardSpec> shard_specs(const Layout& layout, int sip) {
  std::vector<ShardSpec> specs;
  for (const Holder& holder : layout.holders())
    for (const LayoutTile& tile : layout.tiles(layout.blocks()[holder.block]))
      specs.push_back({sip, holder.cube, holder.pe, Bytes(tile.offset),
                       Bytes(tile.rect.rows * tile.rect.cols * layout.itemsize())});
  return specs;
}

}  // namespace kernbench::runtime
