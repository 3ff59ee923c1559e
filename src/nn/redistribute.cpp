// From one placement of a tensor to another, on the device.
#include <algorithm>

#include "nn/exchange.hpp"
#include "nn/pieces.hpp"
#include "nn/product.hpp"

namespace kernbench::nn {

std::vector<SourceTile> source_tiles(const Tensor& tensor) {
  const runtime::Layout& layout = tensor.state()->layout();
  std::vector<PePlace> first(layout.blocks().size(), {-1, -1});
  for (const runtime::Holder& h : layout.holders())
    if (first[h.block].cube < 0) first[h.block] = {h.cube, h.pe};
  std::vector<SourceTile> tiles;
  for (std::size_t b = 0; b < first.size(); ++b)
    for (const LayoutTile& tile : layout.tiles(layout.blocks()[b]))
      tiles.push_back({tile.rect, tile.offset, tile.rect.cols, first[b]});
  return tiles;
}

std::vector<Rect> blocks_of(const Rect& rect, std::int64_t most_elements) {
  std::vector<Rect> blocks;
  const std::int64_t cols = std::clamp<std::int64_t>(rect.cols, 1, std::max<std::int64_t>(most_elements, 1));
  const std::int64_t rows = std::clamp<std::int64_t>(most_elements / cols, 1, rect.rows);
  for (std::int64_t row = 0; row < rect.rows; row += rows)
    for (std::int64_t col = 0; col < rect.cols; col += cols)
      blocks.push_back(
          {rect.row + row, rect.col + col, std::min(rows, rect.rows - row), std::min(cols, rect.cols - col)});
  return blocks;
}

Rect common(const Rect& a, const Rect& b) {
  const auto row = std::max(a.row, b.row), col = std::max(a.col, b.col);
  return {row, col, std::min(a.row + a.rows, b.row + b.rows) - row,
          std::min(a.col + a.cols, b.col + b.cols) - col};
}

Matrix part_of(const SourceTile& tile, tl::Ptr tensor, DType dtype, const Rect& part) {
  const Matrix all{tensor + tile.offset, tile.rect.rows, tile.rect.cols, tile.stride, dtype};
  return all.block(part.row - tile.rect.row, part.col - tile.rect.col, part.rows, part.cols);
}

void fetch(tl::Context& tl, const Fetch& what, tl::Ptr from, tl::Ptr to) {
  const std::int64_t most = tl.environment().scratch.count() / 8 / itemsize(what.dtype);
  for (const auto& mine : tl.shards(to)) {
    const Matrix target = Matrix::of(mine);
    const bool vector = mine.shape.rank() < 2;
    const Rect rect{vector ? 0 : mine.origin[0],
                    mine.origin.rank() == 0 ? 0 : mine.origin[mine.origin.rank() - 1], target.rows,
                    target.cols};
    for (const SourceTile& tile : what.tiles) {
      const Rect both = common(tile.rect, rect);
      if (is_empty(both)) continue;
      for (const Rect& block : blocks_of(both, most)) {
        const auto loaded = part_of(tile, from, what.dtype, block).load(tl);
        target.block(block.row - rect.row, block.col - rect.col, block.rows, block.cols).store(tl, loaded);
      }
    }
  }
}

namespace {

constexpr std::int64_t kTileBytes = 16384;  // that go round at once

/// Bytes that a PE may have to send although others have less: starting elsewhere would take longer.
constexpr std::int64_t kLittle = 4096;

using Blocks = std::vector<std::vector<Rect>>;  // of each PE of an exchange, cube by cube along its ring

std::size_t number_of(const Exchange& exchange, Exchange::Place p) {
  return static_cast<std::size_t>(p.cube * exchange.pes() + p.pe);
}

/// The tiles where they lie, if nobody has far more than others; else nothing.
Blocks blocks_as_they_lie(const Fetch& what, const Exchange& exchange) {
  Blocks blocks(static_cast<std::size_t>(exchange.cubes() * exchange.pes()));
  std::vector<std::int64_t> has(blocks.size());
  std::int64_t all = 0;
  for (const SourceTile& tile : what.tiles) {
    const auto place = exchange.find(tile.at);
    if (!place) return {};
    const std::size_t n = number_of(exchange, *place);
    for (const Rect& block : blocks_of(tile.rect, kTileBytes / itemsize(what.dtype)))
      blocks[n].push_back(block);
    const std::int64_t elements = tile.rect.rows * tile.rect.cols;
    has[n] += elements, all += elements;
  }
  const std::int64_t most = std::ranges::max(has), even = 2 * (all / std::ssize(has) + 1);
  return most <= std::max(even, kLittle / itemsize(what.dtype)) ? blocks : Blocks();
}

/// As even as can be: rows, or columns where rows are few.
std::vector<Rect> even_parts(const Placed& target, const Exchange& exchange) {
  std::vector<Rect> parts;
  const std::int64_t n = exchange.cubes() * exchange.pes();
  const bool by_rows = target.rows() >= n || target.rows() > target.cols();
  const std::int64_t extent = by_rows ? target.rows() : target.cols(), each = (extent + n - 1) / n;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t begin = std::min(i * each, extent), count = std::min(each, extent - begin);
    parts.push_back(by_rows ? Rect{begin, 0, count, target.cols()} : Rect{0, begin, target.rows(), count});
  }
  return parts;
}

/// Every PE fetches its part from where it lies, and everybody gets everybody's.
void gather_everywhere(tl::Context& tl, const Exchange& exchange, const Fetch& what, const Blocks& blocks,
                       tl::Ptr from, tl::Ptr to) {
  const auto number = [&](Exchange::Place p) { return number_of(exchange, p); };
  std::size_t rounds = 0;
  for (const auto& of_pe : blocks) rounds = std::max(rounds, of_pe.size());
  const Matrix target = Matrix::of(tl.shard(to));
  const auto& mine = blocks[number(exchange.place(tl))];
  for (std::size_t round = 0; round < rounds; ++round) {
    const auto block_at = [&](Exchange::Place p) {
      const auto& of_pe = blocks[number(p)];
      return round < of_pe.size() ? of_pe[round] : Rect{};
    };
    const auto shape_at = [&](Exchange::Place p) {
      const Rect block = block_at(p);
      return is_empty(block) ? Shape() : Shape{block.rows, block.cols};
    };
    tl::Tile tile;
    if (round < mine.size())
      for (const SourceTile& source : what.tiles)
        if (common(source.rect, mine[round]) == mine[round])
          tile = part_of(source, from, what.dtype, mine[round]).load(tl);
    exchange.all_gather(tl, tile, what.dtype, shape_at, [&](Exchange::Place p, const tl::Tile& got) {
      const Rect block = block_at(p);
      target.block(block.row, block.col, block.rows, block.cols).store(tl, got);
    });
  }
}

/// Blocks of the parts, none of them across two tiles of the source.
Blocks blocks_of_parts(const std::vector<Rect>& parts, const Fetch& what) {
  Blocks blocks;
  for (const Rect& part : parts) {
    auto& mine = blocks.emplace_back();
    for (const SourceTile& tile : what.tiles)
      if (const Rect both = common(tile.rect, part); !is_empty(both))
        for (const Rect& block : blocks_of(both, kTileBytes / itemsize(what.dtype))) mine.push_back(block);
  }
  return blocks;
}

}  // namespace

void move_into(const Call& call, const Tensor& from, const Tensor& to, std::vector<SourceTile> tiles) {
  const Placed source(from), target(to);
  const auto rectangle = target.rectangle();
  const auto same_rect = [](const SourceTile& a, const SourceTile& b) { return a.rect == b.rect; };
  const bool as_it_lies = std::ranges::equal(tiles, source_tiles(from), same_rect);
  const Fetch what{std::move(tiles), from.dtype()};
  const bool there =
      as_it_lies && std::ranges::all_of(target.pes(), [&](PePlace pe) { return source.is_whole_at(pe); });
  if (target.kind() != PlacedKind::replicated || !rectangle || there) {
    call.launch(target.pes(), {to}, [&](tl::Context& tl) { fetch(tl, what, from.ptr(), to.ptr()); });
    return;
  }
  const Exchange exchange(call, *rectangle, kTileBytes);
  Blocks blocks = blocks_as_they_lie(what, exchange);
  if (blocks.empty()) blocks = blocks_of_parts(even_parts(target, exchange), what);
  call.launch(exchange.spec(), {to},
              [&](tl::Context& tl) { gather_everywhere(tl, exchange, what, blocks, from.ptr(), to.ptr()); });
}

Tensor redistribute(const Tensor& x, const DPPolicy& dp, const OpOptions& options) {
  const Call call("redistribute", options, {x});
  if (options.out_dtype && *options.out_dtype != x.dtype())
    call.fail("nn.dtype", "redistribute changes the place alone", "leave out_dtype out");
  if (dp.own && std::holds_alternative<runtime::InterleavedPages>(*dp.own))
    call.fail("nn.layout", "an interleaved tensor has no shards", "use another policy");
  Tensor result = call.empty(x.shape(), x.dtype(), dp);
  move_into(call, x, result, source_tiles(x));
  return result;
}

}  // namespace kernbench::nn
