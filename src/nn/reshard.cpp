#include "nn/reshard.hpp"

#include <algorithm>

#include "dist/state.hpp"
#include "nn/pieces.hpp"

namespace kernbench::nn {

DPPolicy everywhere_in(const Placed::Rectangle& where) {
  return DPPolicy{}.on({where.first.cube, where.first.cube + where.cubes},
                       {where.first.pe, where.first.pe + where.pes});
}

Tensor copied_to(const Tensor& x, const Placed& pes) {
  const Placed placed(x);
  if (std::ranges::all_of(pes.pes(), [&](PePlace pe) { return placed.is_whole_at(pe); })) return x;
  if (const auto where = pes.rectangle())
    return redistribute(x, everywhere_in(*where), {.name = x.name() + ".copies"});
  std::vector<ShardSpec> copies;
  for (const PePlace pe : pes.pes()) copies.push_back({0, pe.cube, pe.pe, 0_B, Bytes(x.nbytes())});
  return redistribute(x, DPPolicy::given(copies), {.name = x.name() + ".copies"});
}

Tensor columns_like_rows(const Tensor& x, const Tensor& like) {
  const Placed placed(x), rows(like);
  const bool there = std::ranges::all_of(rows.pes(), [&](PePlace pe) {
    const auto mine = placed.at(pe), theirs = rows.at(pe);
    return mine.size() == 1 && theirs.size() == 1 && mine[0].col == theirs[0].row &&
           mine[0].cols == theirs[0].rows;
  });
  if (there && placed.pes() == rows.pes()) return x;
  DPPolicy dp = like.dp();
  if (dp.own || rows.kind() == PlacedKind::whole)
    dp = DPPolicy::whole_on(rows.pes().front());
  else
    dp.cube = dp.cube == Split::row_wise ? Split::column_wise : dp.cube,
    dp.pe = dp.pe == Split::row_wise ? Split::column_wise : dp.pe;
  return redistribute(x, dp, {.name = x.name() + ".columns"});
}

namespace {

Shape with_columns(const Shape& shape, std::int64_t cols) {
  std::vector<std::int64_t> extents(shape.begin(), shape.end());
  extents.back() = cols;
  return Shape(extents);
}

/// Where results of x go: whole where x is whole, else over the largest grid.
DPPolicy columns_for(const Call& call, const Placed& x, std::int64_t cols) {
  if (x.kind() == PlacedKind::whole) return DPPolicy::whole_on(x.pes().front());
  return spread(call.machine(), Split::column_wise, cols);
}

Tensor moved(const Call& call, const Tensor& x, const Shape& shape, const DPPolicy& dp,
             std::vector<SourceTile> tiles) {
  Tensor y = call.empty(shape, x.dtype(), dp);
  move_into(call, x, y, std::move(tiles));
  return y;
}

}  // namespace

Tensor column_part(const Tensor& x, std::int64_t first, std::int64_t count, const std::string& name) {
  const Call call("redistribute", {.name = name}, {x});
  auto tiles = source_tiles(x);
  for (SourceTile& tile : tiles) tile.rect.col -= first;
  return moved(call, x, with_columns(x.shape(), count), columns_for(call, Placed(x), count),
               std::move(tiles));
}

Tensor beside_each_other(const Tensor& x, std::int64_t n, const Shape& shape, const DPPolicy& dp,
                         const std::string& name) {
  const Call call("redistribute", {.name = name}, {x});
  const Placed placed(x);
  const std::int64_t rows = placed.rows() / n, cols = placed.cols();
  std::vector<SourceTile> tiles;
  for (const SourceTile& tile : source_tiles(x))
    for (std::int64_t part = tile.rect.row / rows; part * rows < tile.rect.row + tile.rect.rows; ++part) {
      const std::int64_t begin = std::max(tile.rect.row, part * rows);
      const std::int64_t end = std::min(tile.rect.row + tile.rect.rows, (part + 1) * rows);
      tiles.push_back({{begin - part * rows, tile.rect.col + part * cols, end - begin, tile.rect.cols},
                       tile.offset + (begin - tile.rect.row) * tile.stride * x.itemsize(),
                       tile.stride,
                       tile.at});
    }
  return moved(call, x, shape, dp, std::move(tiles));
}

Tensor below_each_other(const Tensor& x, std::int64_t n, const DPPolicy& dp, const std::string& name) {
  const Call call("redistribute", {.name = name}, {x});
  const Placed placed(x);
  const std::int64_t rows = placed.rows(), cols = placed.cols() / n;
  std::vector<SourceTile> tiles;
  for (const SourceTile& tile : source_tiles(x))
    for (std::int64_t part = tile.rect.col / cols; part * cols < tile.rect.col + tile.rect.cols; ++part) {
      const std::int64_t begin = std::max(tile.rect.col, part * cols);
      const std::int64_t end = std::min(tile.rect.col + tile.rect.cols, (part + 1) * cols);
      tiles.push_back({{tile.rect.row + part * rows, begin - part * cols, tile.rect.rows, end - begin},
                       tile.offset + (begin - tile.rect.col) * x.itemsize(),
                       tile.stride,
                       tile.at});
    }
  return moved(call, x, {n * rows, cols}, dp, std::move(tiles));
}

dist::Work all_reduce_alike(const Tensor& x, const dist::Group& group) {
  dist::Work work = dist::all_reduce(x, dist::ReduceOp::SUM, group);
  const dist::State& state = dist::State::of(x.state()->engine());
  const auto algorithm = state.config().settings(work.algorithm()).algorithm;
  // An algorithm may add in another order on every rank: then one rank's sum is everybody's.
  if (!state.registry().algorithm(algorithm).identical_bits.value_or(false))
    return dist::broadcast(x, 0, group);
  return work;
}

Tensor gather_columns(const Tensor& x, const dist::Group& group, int members, Torch& torch,
                      const std::string& name) {
  const Placed placed(x);
  const Tensor mine = placed.kind() == PlacedKind::columns || placed.kind() == PlacedKind::whole
                          ? x
                          : redistribute(x, spread(torch, Split::column_wise, placed.cols()));
  Tensor all = torch.empty({members * placed.rows(), placed.cols()}, x.dtype(),
                           same_columns(mine, members * placed.rows()), name);
  dist::all_gather_into_tensor(all, mine, group);
  const auto where = Placed(mine).rectangle();
  const DPPolicy dp = !where || where->cubes * where->pes == 1 ? DPPolicy::whole_on(placed.pes().front())
                                                               : everywhere_in(*where);
  return beside_each_other(all, members, with_columns(x.shape(), members * placed.cols()), dp, name);
}

}  // namespace kernbench::nn
