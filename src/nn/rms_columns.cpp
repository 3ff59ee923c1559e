#include "nn/rms_columns.hpp"

#include <algorithm>

#include "nn/exchange.hpp"
#include "nn/pieces.hpp"
#include "nn/product.hpp"

namespace kernbench::nn {
namespace {

enum class Shares { all, of_cube, none };

/// Who has the other columns of a PE's rows: all PEs, or those of its cube.
Shares sharers(const Placed& x, const Placed::Rectangle& where) {
  std::int64_t of_sip = 0, of_first_cube = 0;
  bool all_rows = true, cube_rows = true;
  for (const PePlace pe : x.pes()) {
    const auto mine = x.at(pe), first = x.at({pe.cube, where.first.pe});
    if (mine.size() != 1) return Shares::none;
    all_rows &= mine[0].rows == x.rows();
    cube_rows &= mine[0].row == first[0].row && mine[0].rows == first[0].rows;
    of_sip += mine[0].cols;
    if (pe.cube == where.first.cube) of_first_cube += mine[0].cols;
  }
  if (all_rows && of_sip == x.cols()) return Shares::all;
  if (cube_rows && of_first_cube == x.cols()) return Shares::of_cube;
  return Shares::none;
}

/// Every PE has one row of the weight, the columns that it has of x.
bool weight_is_there(const Placed& x, const Placed& weight) {
  return weight.rows() == 1 && std::ranges::all_of(x.pes(), [&](PePlace pe) {
           const auto has = weight.at(pe), wants = x.at(pe);
           return has.size() == 1 && has[0].col == wants[0].col && has[0].cols == wants[0].cols;
         });
}

/// The kernel. The sums of a block are on their way while the next block is squared.
class ColumnNorm {
 public:
  ColumnNorm(tl::Context& tl, const Exchange& exchange, Shares shares, double width, double eps)
      : tl_(tl), exchange_(exchange), me_(exchange.place(tl)), shares_(shares), width_(width), eps_(eps) {}

  void run(const Matrix& in, const Matrix& weight, const Matrix& out) {
    weight_ = wide(weight.load(tl_));
    const std::int64_t most = std::max<std::int64_t>(1, tl_.environment().scratch.count() / 40 / in.cols);
    for (std::int64_t row = 0; row < in.rows; row += most) {
      const std::int64_t rows = std::min(most, in.rows - row);
      Block next{wide(in.block(row, 0, rows, in.cols).load(tl_)), {}, out.block(row, 0, rows, in.cols)};
      next.sum = tl_.sum(next.x * next.x, 1, true);
      send(next);
      if (last_) finish(*last_);
      last_ = next;
    }
    if (last_) finish(*last_);
  }

 private:
  struct Block {
    tl::Tile x, sum;
    Matrix out;
  };

  tl::Tile wide(const tl::Tile& t) { return t.dtype() == DType::f32 ? t : tl_.cast(t, DType::f32); }

  void send(const Block& block) {
    for (int pe = 0; pe < exchange_.pes(); ++pe)
      if (pe != me_.pe) exchange_.to_mate(tl_, pe, block.sum);
  }

  /// In the order of PEs, so that all have the same bits.
  tl::Tile over_cube(const tl::Tile& mine) {
    tl::Tile sum;
    for (int pe = 0; pe < exchange_.pes(); ++pe) {
      const tl::Tile next = pe == me_.pe ? mine : exchange_.from_mate(tl_, pe, mine.shape(), DType::f32);
      sum = pe == 0 ? next : sum + next;
    }
    return sum;
  }

  /// Round the ring of cubes; added up in its order.
  tl::Tile over_cubes(const tl::Tile& mine) {
    const int n = exchange_.cubes();
    std::vector<tl::Tile> of_cube(static_cast<std::size_t>(n));
    of_cube[static_cast<std::size_t>(me_.cube)] = mine;
    tl::Tile tile = mine;
    for (int step = 1; step < n; ++step) {
      exchange_.to_next(tl_, tile);
      tile = tl_.copy(exchange_.from_previous(tl_, mine.shape(), DType::f32));  // out of its slot
      of_cube[static_cast<std::size_t>((me_.cube - step + n) % n)] = tile;
    }
    tl::Tile sum = of_cube.front();
    for (std::size_t i = 1; i < of_cube.size(); ++i) sum = sum + of_cube[i];
    return sum;
  }

  void finish(const Block& block) {
    tl::Tile sum = over_cube(block.sum);
    if (shares_ == Shares::all) sum = over_cubes(sum);
    const tl::Tile scale = tl_.rsqrt(sum * (1 / width_) + eps_);
    const tl::Tile y = block.x * scale * weight_;
    block.out.store(tl_, y.dtype() == block.out.dtype ? y : tl_.cast(y, block.out.dtype));
  }

  tl::Context& tl_;
  const Exchange& exchange_;
  const Exchange::Place me_;
  const Shares shares_;
  const double width_, eps_;
  tl::Tile weight_;
  std::optional<Block> last_;
};

}  // namespace

Tensor rms_norm_columns(const Call& call, const Tensor& x, const Tensor& weight, double eps,
                        const OpOptions& options) {
  const Placed placed(x);
  const auto where = placed.rectangle();
  const Shares shares = where ? sharers(placed, *where) : Shares::none;
  if (shares == Shares::none) call.fail_layout();
  if (!weight_is_there(placed, Placed(weight)))
    call.fail_layout("every PE needs the columns of the weight that it has of x");
  Tensor y = call.empty(x.shape(), options.out_dtype.value_or(x.dtype()), x.dp());
  const std::int64_t rows = placed.at(placed.pes().front()).front().rows;
  const Exchange exchange(call, *where, rows * 4);
  call.launch(exchange.spec(), {y}, [&](tl::Context& tl) {
    ColumnNorm norm(tl, exchange, shares, static_cast<double>(placed.cols()), eps);
    norm.run(Matrix::of(own(tl, x)), Matrix::of(own(tl, weight)), Matrix::of(own(tl, y)));
  });
  return y;
}

}  // namespace kernbench::nn
