#include "data/composite.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "data/compute.hpp"
#include "data/memory_store.hpp"
#include "data/numerics/elementwise.hpp"
#include "data/numerics/gemm.hpp"
#include "kernbench/error.hpp"

namespace kernbench::data {
namespace {

std::int64_t tiles_of(std::int64_t extent, std::int64_t tile) {
  return std::max<std::int64_t>(1, (extent + tile - 1) / tile);
}

// The pieces of a region of a matrix.
Pieces region_pieces(const Pieces& matrix, std::int64_t columns, int itemsize, const Region& region) {
  Pieces out;
  for (auto row = region.row_begin; row < region.row_end; ++row)
    append_part(matrix, (row * columns + region.column_begin) * itemsize, region.columns() * itemsize,
                (row - region.row_begin) * region.columns() * itemsize, out);
  return out;
}

Dense read_dense(const MemoryStore& store, const Pieces& pieces, DType dtype, const Shape& shape) {
  const Bytes size(shape.elements() * itemsize(dtype));
  const auto content = new_buffer(size);
  copy_out(store, pieces, {content.get(), static_cast<std::size_t>(size.count())});
  return {content, ConstArray(dtype, shape, content.get())};
}

Dense applied(MathOp op, std::span<const ConstArray> operands) {
  std::vector<DType> dtypes;
  for (const auto& a : operands) dtypes.push_back(a.dtype);
  const auto dtype = result_dtype(op, dtypes);
  const auto& shape = operands[0].shape;
  const auto content = new_buffer(Bytes(shape.elements() * itemsize(dtype)));
  elementwise(op, operands, Array(dtype, shape, content.get()));
  return {content, ConstArray(dtype, shape, content.get())};
}

Dense zeros(DType dtype, const Shape& shape) {
  const Bytes size(shape.elements() * itemsize(dtype));
  const auto content = new_buffer(size);
  std::fill_n(content.get(), size.count(), std::byte{0});
  return {content, ConstArray(dtype, shape, content.get())};
}

}  // namespace

TilePlan::TilePlan(std::int64_t m, std::int64_t n, std::int64_t k, TileShape tile)
    : m_(m),
      n_(n),
      k_(k),
      tile_(tile),
      m_tiles_(tiles_of(m, tile.m)),
      n_tiles_(tiles_of(n, tile.n)),
      k_tiles_(tiles_of(k, tile.k)) {}

std::int64_t TilePlan::k_end(std::int64_t k_step) const { return std::min(k_, k_begin(k_step) + tile_.k); }

Region TilePlan::output(std::int64_t index) const {
  const auto row = index / n_tiles_ * tile_.m, column = index % n_tiles_ * tile_.n;
  return {row, std::min(m_, row + tile_.m), column, std::min(n_, column + tile_.n)};
}

Region TilePlan::a_part(std::int64_t step) const {
  const auto out = output(step / k_tiles_);
  return {out.row_begin, out.row_end, k_begin(step % k_tiles_), k_end(step % k_tiles_)};
}

Region TilePlan::b_part(std::int64_t step) const {
  const auto out = output(step / k_tiles_);
  return {k_begin(step % k_tiles_), k_end(step % k_tiles_), out.column_begin, out.column_end};
}

Composite::Composite(const isa::Program& program, const isa::Command& command, TileShape tile, Pieces a,
                     Pieces b, Pieces out)
    : program_(program),
      command_(command),
      spec_(program.composite(command)),
      shape_(program.shape(spec_.out)),
      plan_(shape_[0], shape_[1], program.shape(spec_.a)[1], tile),
      a_pieces_(std::move(a)),
      b_pieces_(std::move(b)),
      out_pieces_(std::move(out)),
      a_referenced_(program.value(spec_.a).kind == isa::ValueKind::reference),
      b_referenced_(program.value(spec_.b).kind == isa::ValueKind::reference) {}

Pieces Composite::read_pieces(std::int64_t n) const {
  const auto step = n / references();
  const bool is_a = reads_a(n);
  const auto id = is_a ? spec_.a : spec_.b;
  return region_pieces(is_a ? a_pieces_ : b_pieces_, program_.shape(id)[1],
                       itemsize(program_.value(id).dtype), is_a ? plan_.a_part(step) : plan_.b_part(step));
}

Pieces Composite::write_pieces(std::int64_t n) const {
  return region_pieces(out_pieces_, shape_[1], itemsize(program_.value(spec_.out).dtype), plan_.output(n));
}

Dense Composite::read_whole(const MemoryStore& store, isa::ValueId id, const Pieces& pieces) const {
  return read_dense(store, pieces, program_.value(id).dtype, program_.shape(id));
}

bool Composite::has_k_steps() const {
  return std::ranges::any_of(program_.epilogue(spec_), [](const isa::EpilogueStep& s) {
    return s.point == isa::EpiloguePoint::per_k_step;
  });
}

void Composite::take_operands(const LiveTiles& tiles) {
  if (std::exchange(operands_taken_, true)) return;
  if (!a_referenced_) operands_.a = tiles.operand(spec_.a);
  if (!b_referenced_) operands_.b = tiles.operand(spec_.b);
  for (const auto& step : program_.epilogue(spec_)) {
    operands_.steps.emplace_back();
    if (step.operand != isa::kNone) operands_.steps.back() = tiles.operand(step.operand);
  }
}

Dense Composite::through_steps(Dense x, isa::EpiloguePoint point, const Region& region) const {
  const auto steps = program_.epilogue(spec_);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].point != point) continue;
    const auto& operand = operands_.steps[i];
    if (!operand) {
      x = applied(steps[i].op, {&x.array, 1});
      continue;
    }
    const auto part = part_of_broadcast(*operand, shape_, region);
    x = applied(steps[i].op, std::array{x.array, part.array});
  }
  return x;
}

Dense Composite::accumulated(std::optional<Dense> sums, const Dense& a, const Dense& b, const Region& region,
                             int threads) const {
  const auto dtype = dot_dtype(a.array.dtype, b.array.dtype);
  const Shape shape{region.rows(), region.columns()};
  const bool apart = has_k_steps();
  const auto content = new_buffer(Bytes(shape.elements() * itemsize(dtype)));
  const auto start = sums && !apart ? std::optional(sums->array) : std::nullopt;
  gemm(a.array, b.array, start, Array(dtype, shape, content.get()), threads);
  Dense product{content, ConstArray(dtype, shape, content.get())};
  if (!apart) return product;
  product = as_dtype(through_steps(product, isa::EpiloguePoint::per_k_step, region), dtype);
  if (!sums) sums = zeros(dtype, shape);
  return applied(MathOp::add, std::array{sums->array, product.array});
}

Dense Composite::whole_product(const Dense& a, const Dense& b, int threads) const {
  const Region all{0, shape_[0], 0, shape_[1]};
  if (!has_k_steps()) return accumulated({}, a, b, all, threads);
  std::optional<Dense> sums;
  for (std::int64_t k = 0; k < plan_.k_steps(); ++k) {
    const auto a_columns = part_of(a, {0, shape_[0], plan_.k_begin(k), plan_.k_end(k)});
    const auto b_rows = part_of(b, {plan_.k_begin(k), plan_.k_end(k), 0, shape_[1]});
    sums = accumulated(std::move(sums), a_columns, b_rows, all, threads);
  }
  return *sums;
}

void Composite::run(MemoryStore& store, LiveTiles& tiles, int threads) {
  take_operands(tiles);
  const auto a = a_referenced_ ? read_whole(store, spec_.a, a_pieces_) : *operands_.a;
  const auto b = b_referenced_ ? read_whole(store, spec_.b, b_pieces_) : *operands_.b;
  const Region all{0, shape_[0], 0, shape_[1]};
  const auto result = through_steps(whole_product(a, b, threads), isa::EpiloguePoint::per_output_tile, all);
  const auto out = as_dtype(result, program_.value(spec_.out).dtype);
  if (makes_tile())
    tiles.put(spec_.out, out.keep);
  else
    copy_in(store, out_pieces_, out.bytes());
  tiles.retire(command_);
}

void Composite::read_next(const MemoryStore& store) {
  const bool is_a = reads_a(reads_);
  const auto step = reads_ / references();
  const auto region = is_a ? plan_.a_part(step) : plan_.b_part(step);
  (is_a ? a_read_ : b_read_)
      .push_back(read_dense(store, read_pieces(reads_), program_.value(is_a ? spec_.a : spec_.b).dtype,
                            {region.rows(), region.columns()}));
  ++reads_;
}

Dense Composite::next_tile(std::deque<Dense>& read, const std::optional<Dense>& resident,
                           const Region& part) {
  if (resident) return part_of(*resident, part);
  KB_ASSERT(!read.empty(), "tile step {} of kernel '{}' comes before its operands were read", products_,
            program_.kernel());
  auto tile = std::move(read.front());
  read.pop_front();
  return tile;
}

void Composite::multiply_next() {
  const auto a = next_tile(a_read_, operands_.a, plan_.a_part(products_));
  const auto b = next_tile(b_read_, operands_.b, plan_.b_part(products_));
  const auto region = plan_.output(products_ / plan_.k_steps());
  sums_ = accumulated(std::move(sums_), a, b, region, 1);
  if (++products_ % plan_.k_steps() != 0) return;
  auto output = as_dtype(through_steps(*sums_, isa::EpiloguePoint::per_output_tile, region),
                         program_.value(spec_.out).dtype);
  if (makes_tile())
    keep_output(output, region);
  else
    outputs_.push_back(std::move(output));
  sums_.reset();
}

/// Puts an output tile where it belongs in the tile that is the result.
void Composite::keep_output(const Dense& output, const Region& region) {
  const auto size = itemsize(output.array.dtype);
  if (!tile_) tile_ = new_buffer(Bytes(shape_.elements() * size));
  const auto row_bytes = static_cast<std::size_t>(region.columns() * size);
  for (auto row = region.row_begin; row < region.row_end; ++row)
    std::memcpy(tile_.get() + (row * shape_[1] + region.column_begin) * size,
                output.array.data + (row - region.row_begin) * region.columns() * size, row_bytes);
}

void Composite::write_next(MemoryStore& store) {
  KB_ASSERT(!outputs_.empty(), "output tile {} of kernel '{}' is written before it is complete", writes_,
            program_.kernel());
  copy_in(store, write_pieces(writes_), outputs_.front().bytes());
  outputs_.pop_front();
  ++writes_;
}

void Composite::advance(MemoryStore& store, LiveTiles& tiles, std::int64_t reads, std::int64_t products,
                        std::int64_t writes) {
  take_operands(tiles);
  const auto last_read = reads_ + reads;
  for (; products > 0; --products) {
    while (reads_ < std::min(last_read, (products_ + 1) * references())) read_next(store);
    multiply_next();
  }
  while (reads_ < last_read) read_next(store);
  if (makes_tile() && products_ == plan_.steps()) {
    tiles.put(spec_.out, tile_);
    return tiles.retire(command_);
  }
  if (writes == 0) return;
  for (; writes > 0; --writes) write_next(store);
  if (writes_ == plan_.outputs()) tiles.retire(command_);
}

}  // namespace kernbench::data
