// a · b by the layouts of both.
#include <fmt/format.h>

#include <algorithm>

#include "kernbench/math_op.hpp"
#include "nn/exchange.hpp"
#include "nn/pieces.hpp"
#include "nn/product.hpp"

namespace kernbench::nn {
namespace {

struct Problem {
  const Call& call;
  Tensor a, b;
  Placed of_a, of_b;
  std::int64_t m, k, n;
  DType out;
};

Shape result_shape(const Tensor& a, std::int64_t n) {
  std::vector<std::int64_t> extents(a.shape().begin(), a.shape().end());
  extents.back() = n;
  return Shape(extents);
}

void check_shapes(const Call& call, const Tensor& a, const Tensor& b) {
  const Shape &left = a.shape(), &right = b.shape();
  if (left.rank() < 2 || right.rank() != 2 || left[left.rank() - 1] != right[0])
    call.fail("nn.shape", fmt::format("{} times {}", to_string(left), to_string(right)),
              "the columns of the first are the rows of the second: […, M, K] · [K, N]");
  if (a.dtype() != b.dtype())
    call.fail("nn.dtype", fmt::format("{} times {}", to_string(a.dtype()), to_string(b.dtype())),
              "both operands have one dtype");
}

/// The epilogue as kernels on these PEs see it. A tensor lies as the columns of the result.
std::vector<EpilogueStep> steps_on(tl::Context& tl, const std::vector<Epilogue>& epilogue) {
  std::vector<EpilogueStep> steps;
  for (const Epilogue& e : epilogue)
    steps.push_back({e.op, e.operand ? tl.shard(e.operand.ptr()).ptr : tl::Ptr(),
                     e.operand ? e.operand.dtype() : DType::f16, e.number});
  return steps;
}

void check_epilogue(const Problem& p, const std::vector<Epilogue>& epilogue, const Placed& result) {
  for (const Epilogue& e : epilogue) {
    if (!e.operand) continue;
    const Placed placed(e.operand);
    const bool fits =
        placed.rows() == 1 && placed.cols() == p.n && std::ranges::all_of(result.pes(), [&](PePlace pe) {
          const auto mine = placed.at(pe), theirs = result.at(pe);
          return mine.size() == 1 && theirs.size() == 1 && mine[0].col == theirs[0].col &&
                 mine[0].cols == theirs[0].cols;
        });
    if (!fits)
      p.call.fail(
          "nn.layout", fmt::format("the epilogue '{}' with {}", e.op, text_of(e.operand)),
          fmt::format("its operand is a vector of {} elements, of which every PE holds those of the columns "
                      "that it computes",
                      p.n));
  }
}

/// Each PE the product of what it has of both.
Tensor local_product(const Problem& p, const DPPolicy& dp, const std::vector<Epilogue>& epilogue) {
  Tensor c = p.call.empty(result_shape(p.a, p.n), p.out, dp);
  const Placed placed(c);
  check_epilogue(p, epilogue, placed);
  std::int64_t macs = 0;
  for (const PePlace pe : placed.pes())
    for (const Rect& r : placed.at(pe)) macs = std::max(macs, r.rows * r.cols * p.k);
  p.call.launch(
      placed.pes(), {c},
      [&](tl::Context& tl) {
        product(tl, Matrix::of(own(tl, p.a)), Matrix::of(own(tl, p.b)), Matrix::of(own(tl, c)),
                steps_on(tl, epilogue));
      },
      macs);
  return c;
}

// ── K is split ──

constexpr std::int64_t kMostTile = 32768;  // bytes of a tile that is sent

/// Row blocks and column parts of the result, as they go through the queues. Those of all PEs are cut alike.
struct Combining {
  std::int64_t rows;   // of a block
  std::int64_t chunk;  // columns of a block
  std::int64_t each;   // columns of a PE's part of the result; the last ones have fewer, or none
  std::int64_t cols;   // of the result
  PePlace first;       // of the rectangle, with so many PEs a cube
  int pes;

  /// `k` is what each PE has of K. A third of the scratch holds B for the PEs of a cube, another blocks of A.
  Combining(const Placed::Rectangle& where, std::int64_t m, std::int64_t k, std::int64_t n, int itemsize,
            Bytes room)
      : each((n + where.cubes * where.pes - 1) / (where.cubes * where.pes)),
        cols(n),
        first(where.first),
        pes(where.pes) {
    const std::int64_t third = room.count() / 3 / (k * itemsize);
    chunk = in_tiles(third / where.pes, each);
    rows = in_tiles(std::min(third / Exchange::kAhead, kMostTile / 4 / chunk), m);
  }
  std::int64_t begin(PePlace at) const {
    return std::min(((at.cube - first.cube) * pes + at.pe - first.pe) * each, cols);
  }
  /// Columns of the chunk that begins `offset` columns into a PE's part.
  std::int64_t width(PePlace at, std::int64_t offset) const {
    return std::clamp<std::int64_t>(std::min(each, cols - begin(at)) - offset, 0, chunk);
  }

 private:
  /// So many, in whole tiles of the matrix unit where that is possible.
  static std::int64_t in_tiles(std::int64_t fits, std::int64_t wanted) {
    return std::clamp<std::int64_t>(fits >= 32 ? fits / 32 * 32 : fits, 1, wanted);
  }
};

/// The kernel. Each PE computes, block by block, its partial products for everybody of its cube; the sums over the cube
/// go round the ring of cubes, each adding its own; so every part of the result ends at its PE.
class Combine {
 public:
  using Take = std::function<void(std::int64_t row, std::int64_t col, const tl::Tile&)>;
  Combine(tl::Context& tl, const Exchange& exchange, const Matrix& a, const Matrix& b, const Combining& plan)
      : tl_(tl), exchange_(exchange), me_(exchange.place(tl)), a_(a), b_(b), plan_(plan) {}

  /// `take` gets this PE's part of each block. So many blocks of rows at a time may wait in the queues.
  void run(const Take& take) {
    const std::int64_t batch = plan_.rows * Exchange::kAhead;
    for (std::int64_t row = 0; row < a_.rows; row += batch) {
      const std::int64_t end = std::min(row + batch, a_.rows);
      std::vector<tl::Tile> left;
      for (std::int64_t r = row; r < end; r += plan_.rows)
        left.push_back(a_.block(r, 0, std::min(plan_.rows, end - r), a_.cols).load(tl_));
      for (std::int64_t col = 0; col < plan_.each; col += plan_.chunk) rounds(left, row, col, take);
    }
  }

 private:
  void rounds(const std::vector<tl::Tile>& left, std::int64_t row, std::int64_t col, const Take& take) {
    const int n = exchange_.cubes();
    for (int step = 0; step < n; ++step) {
      const int cube = (me_.cube - 1 - step + 2 * n) % n;  // whose parts are worked on: in the end its own
      std::vector<tl::Tile> right;
      for (int pe = 0; pe < exchange_.pes(); ++pe) right.push_back(columns_of(exchange_.at(cube, pe), col));
      for (std::size_t i = 0; i < left.size(); ++i) {
        tl::Tile sum = over_cube(left[i], right);
        if (!sum) continue;
        if (step > 0) sum = exchange_.from_previous(tl_, sum.shape(), DType::f32) + sum;
        if (step + 1 < n)
          exchange_.to_next(tl_, sum);
        else
          take(row + static_cast<std::int64_t>(i) * plan_.rows, col, sum);
      }
    }
  }

  /// What this PE has of B for a PE's part of the result.
  tl::Tile columns_of(PePlace at, std::int64_t col) {
    const std::int64_t width = plan_.width(at, col);
    return width == 0 ? tl::Tile() : b_.block(0, plan_.begin(at) + col, b_.rows, width).load(tl_);
  }

  /// The partial products for the mates go there; what they computed for this PE is added in their order.
  tl::Tile over_cube(const tl::Tile& left, const std::vector<tl::Tile>& right) {
    tl::Tile mine;
    for (int pe = 0; pe < exchange_.pes(); ++pe) {
      if (!right[static_cast<std::size_t>(pe)]) continue;
      const tl::Tile partial = tl_.dot(left, right[static_cast<std::size_t>(pe)]);
      if (pe == me_.pe)
        mine = partial;
      else
        exchange_.to_mate(tl_, pe, partial);
    }
    tl::Tile sum;
    for (int pe = 0; mine && pe < exchange_.pes(); ++pe) {
      const tl::Tile next = pe == me_.pe ? mine : exchange_.from_mate(tl_, pe, mine.shape(), DType::f32);
      sum = pe == 0 ? next : sum + next;
    }
    return sum;
  }

  tl::Context& tl_;
  const Exchange& exchange_;
  const Exchange::Place me_;
  const Matrix a_, b_;
  const Combining plan_;
};

MathOp math_op(const Call& call, const std::string& name) {
  for (const MathOpInfo& op : math_ops())
    if (op.name == name && op.kind == MathKind::elementwise) return op.op;
  call.fail("nn.epilogue", fmt::format("no elementwise operation is called '{}'", name),
            "add, mul, maximum, sigmoid, tanh … are: see math_op.hpp");
}

/// The epilogue on a tile of the result, which begins at a column of its PE's part; then the tile to its place.
void finish(tl::Context& tl, const Problem& p, const std::vector<Epilogue>& epilogue, const Matrix& to,
            std::int64_t col, tl::Tile tile) {
  for (const EpilogueStep& step : steps_on(tl, epilogue)) {
    std::vector<tl::Operand> operands = {tile};
    if (!step.operand.is_null())
      operands.emplace_back(tl.load(step.operand + col * itemsize(step.dtype), {1, to.cols}, step.dtype));
    else if (step.number)
      operands.emplace_back(*step.number);
    tile = tl.math(math_op(p.call, step.op), operands);
  }
  to.store(tl, tile.dtype() == p.out ? tile : tl.cast(tile, p.out));
}

IndexRange cubes_of(const Placed::Rectangle& r) { return {r.first.cube, r.first.cube + r.cubes}; }
IndexRange pes_of(const Placed::Rectangle& r) { return {r.first.pe, r.first.pe + r.pes}; }

/// Columns over these PEs: equal parts, or the last ones smaller.
DPPolicy columns_over(const Placed::Rectangle& where, std::int64_t m, const Combining& plan) {
  if (plan.cols % (where.cubes * where.pes) == 0)
    return DPPolicy{.cube = Split::column_wise, .pe = Split::column_wise}.on(cubes_of(where), pes_of(where));
  std::vector<PePlace> pes;
  for (int i = 0; i < where.cubes * where.pes; ++i)
    pes.push_back({where.first.cube + i / where.pes, where.first.pe + i % where.pes});
  return DPPolicy::dealt({m, plan.each}, pes);
}

/// Every PE its part of the columns.
Tensor combined_columns(const Problem& p, const Placed::Rectangle& where,
                        const std::vector<Epilogue>& epilogue) {
  const auto pes = where.cubes * where.pes;
  const Bytes room = p.call.machine().at("pe.pe_tcm").bytes("kernel_scratch_mb");
  const Combining plan(where, p.m, p.k / pes, p.n, p.a.itemsize(), room);
  Tensor c = p.call.empty(result_shape(p.a, p.n), p.out, columns_over(where, p.m, plan));
  check_epilogue(p, epilogue, Placed(c));
  const Exchange exchange(p.call, where, plan.rows * plan.chunk * 4);
  p.call.launch(
      exchange.spec(), {c},
      [&](tl::Context& tl) {
        const auto take = [&](std::int64_t row, std::int64_t col, const tl::Tile& tile) {
          const Shape shape = tile.shape();
          finish(tl, p, epilogue, Matrix::of(own(tl, c)).block(row, col, shape[0], shape[1]), col, tile);
        };
        Combine(tl, exchange, Matrix::of(own(tl, p.a)), Matrix::of(own(tl, p.b)), plan).run(take);
      },
      p.m * p.n * (p.k / pes));
  return c;
}

Tensor combined_product(const Problem& p, const MatmulOptions& options) {
  const auto where = p.of_a.rectangle();
  if (!where) p.call.fail_layout("where K is split, the PEs are a rectangle");
  Tensor c = combined_columns(p, *where, options.epilogue);
  const bool by_columns = options.result == Split::column_wise;
  if (by_columns && !c.dp().own) return c;
  DPPolicy dp = DPPolicy{}.on(cubes_of(*where), pes_of(*where));
  if (by_columns) dp = spread(p.call.machine(), Split::column_wise, p.n);
  Tensor result = p.call.empty(c.shape(), p.out, dp);
  move_into(p.call, c, result, source_tiles(c));
  return result;
}

bool splits_k(const Problem& p) {
  if (p.of_a.kind() != PlacedKind::columns || p.of_b.kind() != PlacedKind::rows ||
      p.of_a.pes() != p.of_b.pes())
    return false;
  std::int64_t covered = 0;
  for (const PePlace pe : p.of_a.pes()) {
    const Rect a = p.of_a.at(pe).front(), b = p.of_b.at(pe).front();
    if (a.col != b.row || a.cols != b.rows) return false;
    covered += a.cols;
  }
  return covered == p.k;
}

/// A by rows over cubes, B by columns over the PEs of each cube: where that is so, the result's policy.
std::optional<DPPolicy> grid_of(const Problem& p) {
  const DPPolicy &a = p.a.dp(), &b = p.b.dp();
  const bool grid = !a.own && !b.own && a.cube == Split::row_wise && a.pe == Split::replicate &&
                    b.cube == Split::replicate && b.pe == Split::column_wise && p.of_a.pes() == p.of_b.pes();
  if (!grid) return {};
  DPPolicy both = a;
  both.pe = Split::column_wise;
  return both;
}

bool all_have(const Placed& placed, const std::vector<PePlace>& pes) {
  return std::ranges::all_of(pes, [&](PePlace pe) { return placed.is_whole_at(pe); });
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b, const MatmulOptions& options) {
  std::vector<Tensor> operands = {a, b};
  for (const Epilogue& e : options.epilogue)
    if (e.operand) operands.push_back(e.operand);
  const Call call("matmul", {options.out_dtype, options.name}, operands, options.result_name);
  check_shapes(call, a, b);
  if (options.result != Split::replicate && options.result != Split::column_wise)
    call.fail("nn.layout", fmt::format("a result that lies {}", to_string(options.result)),
              "where K is split it is replicate or column_wise");
  const Problem p{call,
                  a,
                  b,
                  Placed(a),
                  Placed(b),
                  a.shape().elements() / b.shape()[0],
                  b.shape()[0],
                  b.shape()[1],
                  options.out_dtype.value_or(a.dtype())};
  const PlacedKind of_b = p.of_b.kind(), of_a = p.of_a.kind();
  const bool b_by_columns = of_b == PlacedKind::columns || of_b == PlacedKind::whole;
  const bool a_by_rows = of_a == PlacedKind::rows || of_a == PlacedKind::whole;
  if (splits_k(p)) return combined_product(p, options);
  if (b_by_columns && all_have(p.of_a, p.of_b.pes()))
    return local_product(p, same_columns(b, p.m), options.epilogue);
  if (a_by_rows && all_have(p.of_b, p.of_a.pes()))
    return local_product(p, same_rows(a, p.n, p.out), options.epilogue);
  if (const auto grid = grid_of(p)) return local_product(p, *grid, options.epilogue);
  call.fail_layout();
}

}  // namespace kernbench::nn
