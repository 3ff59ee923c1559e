// Random kernels on a memory of f32, and what they must do to it: an interpreter that carries out a program in program
// order, one element at a time, with index arithmetic written out.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "data/random_arrays.hpp"
#include "data/reference.hpp"
#include "kernbench/tl.hpp"

namespace kernbench::data {

inline constexpr std::int64_t kElements = 4096;  // of f32, what the kernels work on

/// Numbers of tiles in row-major order. Only dtypes f32, i32 and i1 occur, so f64 holds all of them.
using Numbers = std::vector<double>;

/// Carries out a program on a memory of f32 (or i32) elements.
class Interpreter {
 public:
  Interpreter(const isa::Program& program, std::map<std::uint64_t, double>& memory)
      : program_(program), memory_(memory) {}

  void run() {
    for (const auto& c : program_.commands()) {
      if (c.kind == isa::CommandKind::dma_read) load(c);
      if (c.kind == isa::CommandKind::dma_write) store(c);
      if (c.kind == isa::CommandKind::gemm) multiply(c);
      if (c.kind == isa::CommandKind::math) math(c);
    }
  }

 private:
  static std::vector<std::int64_t> index_of(const Shape& shape, std::int64_t i) {
    std::vector<std::int64_t> index(static_cast<std::size_t>(shape.rank()));
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      index[static_cast<std::size_t>(axis)] = i % shape[axis];
      i /= shape[axis];
    }
    return index;
  }
  static std::int64_t dot(const std::vector<std::int64_t>& index, const isa::Strides& strides) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < index.size(); ++i) sum += index[i] * strides[i];
    return sum;
  }
  Numbers operand(isa::ValueId id) const {
    if (program_.value(id).kind == isa::ValueKind::scalar) return {program_.scalar(id)};
    const auto layout = program_.layout(id);
    const auto& shape = program_.shape(id);
    Numbers out;
    for (std::int64_t i = 0; i < shape.elements(); ++i)
      out.push_back(tiles_.at(
          layout.base)[static_cast<std::size_t>(layout.offset + dot(index_of(shape, i), layout.strides))]);
    return out;
  }
  bool active(const isa::Command& c, std::int64_t lane) const {
    if (!program_.masked(c)) return true;
    for (const auto run : program_.active_runs(c))
      if (run.begin <= lane && lane < run.end) return true;
    return false;
  }
  std::uint64_t address(const isa::Command& c, std::int64_t lane) const {
    const auto element = dot(index_of(program_.shape(program_.moved(c)), lane), program_.strides(c));
    return program_.address(c) + 4 * static_cast<std::uint64_t>(element);
  }
  void load(const isa::Command& c) {
    auto& tile = tiles_[c.result];
    for (std::int64_t i = 0; i < program_.shape(c.result).elements(); ++i)
      tile.push_back(active(c, i) ? memory_.at(address(c, i)) : program_.other(c));
  }
  void store(const isa::Command& c) {
    const auto tile = operand(c.read[0]);
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(tile.size()); ++i)
      if (active(c, i)) memory_[address(c, i)] = tile[static_cast<std::size_t>(i)];
  }
  void multiply(const isa::Command& c) {
    const auto reads = program_.reads(c);
    const auto a = operand(reads[0]), b = operand(reads[1]);
    const auto acc = reads.size() == 3 ? operand(reads[2]) : Numbers();
    const auto m = program_.shape(reads[0])[0], k = program_.shape(reads[0])[1],
               n = program_.shape(reads[1])[1];
    for (std::int64_t i = 0; i < m * n; ++i) {
      float sum = acc.empty() ? 0.0f : static_cast<float>(acc[static_cast<std::size_t>(i)]);
      for (std::int64_t l = 0; l < k; ++l)
        sum = std::fmaf(static_cast<float>(a[static_cast<std::size_t>(i / n * k + l)]),
                        static_cast<float>(b[static_cast<std::size_t>(l * n + i % n)]), sum);
      tiles_[c.result].push_back(sum);
    }
  }
  void math(const isa::Command& c) {
    if (info(c.op).kind == MathKind::reduction) return reduce(c);
    const auto reads = program_.reads(c);
    const auto& shape = program_.shape(c.result);
    std::vector<Numbers> in;
    for (const auto id : reads) in.push_back(operand(id));
    bool floats = false;
    for (const auto id : reads) floats = floats || is_float(program_.value(id).dtype);
    for (std::size_t i = 0; i < static_cast<std::size_t>(shape.elements()); ++i) {
      std::array<double, 3> x{};
      for (std::size_t j = 0; j < in.size(); ++j)
        x[j] = in[j][reference::source(program_.shape(reads[j]), shape, i)];
      tiles_[c.result].push_back(floats ? of_floats(c.op, x) : of_integers(c.op, x, c, i));
    }
  }
  static double of_floats(MathOp op, std::array<double, 3> x) {
    const auto a = static_cast<float>(x[0]), b = static_cast<float>(x[1]), c = static_cast<float>(x[2]);
    switch (op) {
      case MathOp::add:
        return a + b;
      case MathOp::sub:
        return a - b;
      case MathOp::mul:
        return a * b;
      case MathOp::maximum:
        return std::max(a, b);
      case MathOp::lt:
        return a < b;
      case MathOp::where:
        return a != 0 ? b : c;
      case MathOp::copy:
      case MathOp::fill:
        return a;
      default:
        ADD_FAILURE() << to_string(op);
        return 0;
    }
  }
  static double of_integers(MathOp op, std::array<double, 3> x, const isa::Command&, std::size_t i) {
    const auto a = static_cast<std::int64_t>(x[0]), b = static_cast<std::int64_t>(x[1]);
    switch (op) {
      case MathOp::arange:
        return static_cast<double>(a + static_cast<std::int64_t>(i));
      case MathOp::lt:
        return a < b;
      case MathOp::ge:
        return a >= b;
      case MathOp::copy:
      case MathOp::fill:
        return x[0];
      default:
        ADD_FAILURE() << to_string(op);
        return 0;
    }
  }
  void reduce(const isa::Command& c) {
    const auto id = program_.reads(c)[0];
    const auto& shape = program_.shape(id);
    const auto in = operand(id);
    const int axis = program_.axis(c);
    std::map<std::vector<std::int64_t>, std::vector<float>> columns;
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      auto index = index_of(shape, i);
      index.erase(index.begin() + axis);
      columns[index].push_back(static_cast<float>(in[static_cast<std::size_t>(i)]));
    }
    for (const auto& [index, column] : columns)
      tiles_[c.result].push_back(c.op == MathOp::sum ? sum(column) : *std::ranges::max_element(column));
  }
  static float sum(const std::vector<float>& column) {  // sixteen partial sums, halved
    std::array<float, 16> partial{};
    for (std::size_t i = 0; i < column.size(); ++i) partial[i % 16] += column[i];
    for (std::size_t half = 8; half > 0; half /= 2)
      for (std::size_t i = 0; i < half; ++i) partial[i] += partial[i + half];
    return partial[0];
  }

  const isa::Program& program_;
  std::map<std::uint64_t, double>& memory_;
  std::map<isa::ValueId, Numbers> tiles_;
};

/// A kernel of `length` random operations on tiles of f32, with at most two axes.
class RandomKernel {
 public:
  /// Its memory begins at `memory`.
  RandomKernel(std::uint64_t memory, std::uint32_t seed, int length)
      : memory_(memory), random_(seed), length_(length) {}

  void operator()(tl::Context& tl) {
    tiles_ = {load(tl), load(tl)};
    for (int i = 0; i < length_; ++i) {
      const auto next = step(tl);
      if (next.shape().elements() > 0 && next.shape().elements() <= 400) tiles_.push_back(next);
    }
    for (int i = 0; i < 4; ++i) store(tl, pick());
  }

 private:
  tl::Tile pick() { return tiles_[static_cast<std::size_t>(random_.below(static_cast<int>(tiles_.size())))]; }
  tl::Ptr place(std::int64_t elements) {
    return tl::Ptr(memory_) + 4 * random_.below(static_cast<int>(kElements - elements));
  }
  /// A comparison of lane numbers: known while recording.
  tl::Tile mask(tl::Context& tl, const Shape& shape) {
    const auto lanes = tl.arange(0, shape[shape.rank() - 1]);
    const int at = random_.below(static_cast<int>(shape[shape.rank() - 1]) + 1);
    return random_.below(2) == 0 ? lanes < at : lanes >= at;
  }
  tl::Tile load(tl::Context& tl) {
    const std::int64_t rows = 1 + random_.below(6), columns = 1 + random_.below(24);
    tl::LoadOptions options;
    if (random_.below(3) == 0) options.strides = {columns + random_.below(9), 1 + random_.below(2)};
    if (random_.below(3) == 0) options.mask = mask(tl, {rows, columns}), options.other = random_.below(3) - 1;
    return tl.load(place(rows * (columns + 9) * 2), {rows, columns}, DType::f32, options);
  }
  void store(tl::Context& tl, const tl::Tile& tile) {
    tl::StoreOptions options;
    if (tile.rank() > 0 && random_.below(2) == 0) options.mask = mask(tl, tile.shape());
    tl.store(place(tile.shape().elements()), tile, options);
  }
  tl::Tile view(tl::Context& tl, const tl::Tile& x) {
    if (x.rank() < 2) return random_.below(2) == 0 ? tl.expand_dims(x, 0) : tl.reshape(x, {-1, 1});
    const auto rows = x.shape()[0], columns = x.shape()[1];
    const int first = random_.below(static_cast<int>(columns));
    switch (random_.below(4)) {
      case 0:
        return tl.trans(x);
      case 1:
        return x.slice({{0, rows, 1 + random_.below(2)}, {first, columns}});
      case 2:
        return x.slice({tl::index(random_.below(static_cast<int>(rows)))});
      default:
        return tl.reshape(x, {rows * columns});
    }
  }
  tl::Tile combine(tl::Context& tl, const tl::Tile& x) {
    auto y = pick();
    const auto fits = [&](std::int64_t a, std::int64_t b) { return a == b || a == 1 || b == 1; };
    const int common = std::min(x.rank(), y.rank());
    for (int back = 1; back <= common; ++back)
      if (!fits(x.shape()[x.rank() - back], y.shape()[y.rank() - back])) return x * 0.5;
    switch (random_.below(5)) {
      case 0:
        return x + y;
      case 1:
        return x - y;
      case 2:
        return x * y * 0.25;
      case 3:
        return tl.maximum(x, y);
      default:
        return tl.where(x < y, x, y + 1.0);
    }
  }
  tl::Tile step(tl::Context& tl) {
    const auto x = pick();
    switch (random_.below(8)) {
      case 0:
        return load(tl);
      case 1:
      case 2:
        return view(tl, x);
      case 3:
        return x.rank() == 0 ? x + 1.0 : tl.sum(x, random_.below(x.rank())) * 0.125;
      case 4:
        return x.rank() == 0 ? x - 1.0 : tl.max(x, random_.below(x.rank()));
      case 5:
        if (x.rank() == 2) return tl.dot(x, tl.trans(x)) * 0.0625;
        return x + x;
      case 6:
        store(tl, x);
        return load(tl);
      default:
        return combine(tl, x);
    }
  }

  std::uint64_t memory_;
  Random random_;
  int length_;
  std::vector<tl::Tile> tiles_;
};

inline NdArray random_memory() {
  NdArray array(DType::f32, {kElements});
  Random random(77);
  for (auto& x : array.view<float>()) x = static_cast<float>(random.below(2001) - 1000) * 0x1p-8f;
  return array;
}

}  // namespace kernbench::data
