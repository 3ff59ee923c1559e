// Random programs over all float dtypes, i32, i8 and truth values, on numbers of any bits: NaN, infinities, subnormals. The
// machine model runs them. Every tile is stored beside the one before, so each operation is checked by itself: what it must
// give follows from what its operands left in memory.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "data/random_arrays.hpp"
#include "data/reference.hpp"
#include "data/simulated_world.hpp"
#include "kernbench/error.hpp"
#include "seeds.hpp"

namespace kernbench::data::random_program_test {
namespace {

using namespace kernbench::dtypes;
using device::testing::kBase;

constexpr PeCoord kPe{0, 0, 0};
constexpr std::uint64_t kPlace = 256;  // bytes for a tile of up to 4 × 9 elements
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// ── what an operation gives, element by element ──

using Operands = std::array<double, 3>;

/// Its value after rounding to a dtype, or cutting to its width.
double converted(DType to, double x, bool was_float) {
  if (is_float(to)) return reference::rounded(to, static_cast<float>(x));
  if (to == i1) return x != 0;
  if (!was_float) return reference::wrapped(to, static_cast<std::int64_t>(x));
  if (std::isnan(x)) return 0;
  const double most = to == i8 ? 127 : 2147483647;
  return std::clamp(std::trunc(x), -most - 1, most) + 0.0;  // no −0
}

/// NaN if either is; +0 is above −0.
double larger(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return kNan;
  if (a == b) return std::signbit(a) ? b : a;
  return std::max(a, b);
}
double smaller(double a, double b) { return -larger(-a, -b); }

double of_floats(MathOp op, const Operands& x) {
  const auto a = static_cast<float>(x[0]), b = static_cast<float>(x[1]), c = static_cast<float>(x[2]);
  switch (op) {
    case MathOp::add:
      return a + b;
    case MathOp::sub:
      return a - b;
    case MathOp::mul:
      return a * b;
    case MathOp::div:
      return a / b;
    case MathOp::neg:
      return -a;
    case MathOp::abs:
      return std::fabs(a);
    case MathOp::sqrt:
      return std::sqrt(a);
    case MathOp::floor:
      return std::floor(a);
    case MathOp::ceil:
      return std::ceil(a);
    case MathOp::fma:
      return std::fmaf(a, b, c);
    case MathOp::maximum:
      return larger(a, b);
    case MathOp::minimum:
      return smaller(a, b);
    case MathOp::clamp:
      return smaller(larger(a, b), c);
    case MathOp::where:
      return a != 0 ? b : c;
    case MathOp::copy:
      return a;
    default:
      ADD_FAILURE() << to_string(op);
      return 0;
  }
}

double of_integers(MathOp op, const Operands& x) {
  const auto a = static_cast<std::int64_t>(x[0]), b = static_cast<std::int64_t>(x[1]),
             c = static_cast<std::int64_t>(x[2]);
  const auto number = [](std::int64_t n) { return reference::wrapped(i32, n); };
  switch (op) {
    case MathOp::add:
      return number(a + b);
    case MathOp::sub:
      return number(a - b);
    case MathOp::mul:
      return number(a * b);
    case MathOp::fma:
      return number(a * b + c);
    case MathOp::neg:
      return number(-a);
    case MathOp::abs:
      return number(std::abs(a));
    case MathOp::floordiv:
      return number(b == 0 ? -1 : a / b);
    case MathOp::mod:
      return number(b == 0 ? a : a % b);
    case MathOp::bit_and:
      return number(a & b);
    case MathOp::bit_or:
      return number(a | b);
    case MathOp::bit_xor:
      return number(a ^ b);
    case MathOp::maximum:
      return number(std::max(a, b));
    case MathOp::minimum:
      return number(std::min(a, b));
    case MathOp::clamp:
      return number(std::min(std::max(a, b), c));
    case MathOp::where:
      return number(a != 0 ? b : c);
    case MathOp::copy:
      return number(a);
    default:
      ADD_FAILURE() << to_string(op);
      return 0;
  }
}

bool compared(MathOp op, double a, double b) {
  switch (op) {
    case MathOp::eq:
      return a == b;
    case MathOp::ne:
      return a != b;
    case MathOp::lt:
      return a < b;
    case MathOp::le:
      return a <= b;
    case MathOp::gt:
      return a > b;
    case MathOp::ge:
      return a >= b;
    default:
      ADD_FAILURE() << to_string(op);
      return false;
  }
}

using Exact = long double (*)(long double);
Exact function(MathOp op) {
  switch (op) {
    case MathOp::exp:
      return std::exp;
    case MathOp::exp2:
      return std::exp2;
    case MathOp::log:
      return std::log;
    case MathOp::log2:
      return std::log2;
    case MathOp::rsqrt:
      return [](long double x) { return 1 / std::sqrt(x); };
    case MathOp::sigmoid:
      return [](long double x) { return 1 / (1 + std::exp(-x)); };
    case MathOp::tanh:
      return std::tanh;
    case MathOp::erf:
      return std::erf;
    case MathOp::sin:
      return std::sin;
    case MathOp::cos:
      return std::cos;
    default:
      return nullptr;
  }
}

/// A function of f32 is the nearest to the exact value or the one beside it; then it is rounded.
bool is_function_of(Exact exact, double x, DType dtype, double got) {
  const auto nearest = static_cast<float>(exact(static_cast<float>(x)));
  for (const float f : {nearest, std::nextafter(nearest, -HUGE_VALF), std::nextafter(nearest, HUGE_VALF)})
    if (reference::same(got, reference::rounded(dtype, f))) return true;
  return false;
}

// ── programs ──

constexpr std::array kOps = {
    MathOp::add,     MathOp::sub,     MathOp::mul,     MathOp::div,     MathOp::floordiv, MathOp::mod,
    MathOp::bit_and, MathOp::bit_or,  MathOp::bit_xor, MathOp::maximum, MathOp::minimum,  MathOp::eq,
    MathOp::ne,      MathOp::lt,      MathOp::le,      MathOp::gt,      MathOp::ge,       MathOp::neg,
    MathOp::abs,     MathOp::bit_not, MathOp::exp,     MathOp::exp2,    MathOp::log,      MathOp::log2,
    MathOp::sqrt,    MathOp::rsqrt,   MathOp::sigmoid, MathOp::tanh,    MathOp::erf,      MathOp::sin,
    MathOp::cos,     MathOp::floor,   MathOp::ceil,    MathOp::where,   MathOp::fma,      MathOp::clamp,
    MathOp::copy,    MathOp::cast,    MathOp::sum,     MathOp::max,     MathOp::min};

/// A tile, how it was made, and where in memory it was stored.
struct Made {
  MathOp op = MathOp::fill;  // fill: it was loaded
  bool product = false;      // a tl.dot
  int axis = 0;              // of a reduction
  std::vector<std::size_t> operands;
  DType dtype = f32;
  Shape shape;
};

class RandomProgram {
 public:
  RandomProgram(std::uint32_t seed, int length) : random_(seed), length_(length) {}

  /// The tiles that it begins with: what lies at their places.
  static NdArray input(std::uint32_t seed, std::size_t place) {
    Random random(seed * 64 + static_cast<std::uint32_t>(place));
    const DType dtype = reference::kDTypes[place % reference::kDTypes.size()];
    return random.below(2) == 0 ? random.any_bits(dtype, shape_of(place))
                                : random.array(dtype, shape_of(place));
  }
  static constexpr std::size_t kInputs = 16;

  void operator()(tl::Context& tl) {
    for (std::size_t i = 0; i < kInputs; ++i)
      add({}, tl.load(at(i), shape_of(i), reference::kDTypes[i % reference::kDTypes.size()]));
    while (static_cast<int>(made_.size()) < length_)
      if (random_.below(12) == 0)
        multiply(tl);
      else
        step(tl);
    for (std::size_t i = kInputs; i < made_.size(); ++i) tl.store(at(i), tiles_[i]);
  }
  const std::vector<Made>& made() const { return made_; }

 private:
  static Shape shape_of(std::size_t place) {
    constexpr std::array<std::array<std::int64_t, 2>, 3> kShapes = {{{4, 9}, {1, 9}, {4, 1}}};
    const auto& s = kShapes[place < 8 ? 0 : place % 3];
    return {s[0], s[1]};
  }
  static tl::Ptr at(std::size_t place) { return tl::Ptr(kBase + kPlace * place); }

  std::size_t pick() {
    const auto i = static_cast<std::size_t>(random_.below(static_cast<int>(made_.size())));
    return made_[i].product ? pick() : i;
  }

  void step(tl::Context& tl) {
    const MathOp op = kOps[static_cast<std::size_t>(random_.below(kOps.size()))];
    Made next{.op = op};
    std::vector<tl::Operand> operands;
    std::vector<DType> dtypes;
    for (int i = 0; i < info(op).operands; ++i) {
      next.operands.push_back(pick());
      operands.emplace_back(tiles_[next.operands.back()]);
      dtypes.push_back(made_[next.operands.back()].dtype);
    }
    const tl::Tile x = tiles_[next.operands[0]];
    if (op == MathOp::cast)
      add(next, tl.cast(x, reference::kDTypes[static_cast<std::size_t>(random_.below(8))]));
    else if (!takes(op, dtypes))
      return;
    else if (info(op).kind == MathKind::reduction)
      next.axis = random_.below(2), add(next, tl.reduce(op, x, next.axis, true));
    else
      add(next, tl.math(op, operands));
  }

  void add(Made made, const tl::Tile& tile) {
    made.dtype = tile.dtype(), made.shape = tile.shape();
    made_.push_back(std::move(made));
    tiles_.push_back(tile);
  }

  static bool takes(MathOp op, const std::vector<DType>& dtypes) {
    try {
      result_dtype(op, dtypes);
      return true;
    } catch (const InputError&) {
      return false;
    }
  }

  /// [4, 9] · [9, 4] of floats. Its result fits no other tile's shape, so nothing is made of it.
  void multiply(tl::Context& tl) {
    const std::size_t a = pick(), b = pick();
    for (const Made& m : {made_[a], made_[b]})
      if (!is_float(m.dtype) || m.shape != Shape{4, 9}) return;
    add({.product = true, .operands = {a, b}}, tl.dot(tiles_[a], tl.trans(tiles_[b])));
  }

  Random random_;
  int length_;
  std::vector<Made> made_;
  std::vector<tl::Tile> tiles_;  // as long as it is recorded
};

// ── what memory holds afterwards ──

class Checker {
 public:
  Checker(SimulatedWorld& world, const std::vector<Made>& made) : made_(made) {
    for (std::size_t i = 0; i < made.size(); ++i)
      left_.push_back(world.get(kPe, kPlace * i, made[i].dtype, made[i].shape));
  }

  void check(std::size_t i) const {
    const Made& m = made_[i];
    if (m.op == MathOp::fill && !m.product) return;  // it was loaded
    if (is_float(m.dtype) && !keeps_bits(m)) {
      ASSERT_TRUE(reference::nans_are_canonical(left_[i])) << said(m, 0, reference::number(left_[i], 0));
    }
    for (std::size_t e = 0; e < static_cast<std::size_t>(left_[i].elements()); ++e) {
      const double got = reference::number(left_[i], e);
      if (const Exact exact = function(m.op)) {
        ASSERT_TRUE(is_function_of(exact, operand(m, 0, e), m.dtype, got)) << said(m, e, got);
      } else {
        const double want = expected(m, e);
        ASSERT_TRUE(reference::same(got, want)) << said(m, e, got) << ", not " << want;
      }
    }
  }

 private:
  DType dtype(const Made& m, std::size_t i) const { return made_[m.operands[i]].dtype; }
  /// A cast to the dtype that it has is no operation.
  bool keeps_bits(const Made& m) const {
    return m.op == MathOp::copy || (m.op == MathOp::cast && dtype(m, 0) == m.dtype);
  }
  double operand(const Made& m, std::size_t i, std::size_t element) const {
    const NdArray& from = left_[m.operands[i]];
    return reference::number(from, reference::source(from.shape(), m.shape, element));
  }

  double expected(const Made& m, std::size_t e) const {
    if (m.product) return product(left_[m.operands[0]], left_[m.operands[1]], e);
    if (info(m.op).kind == MathKind::reduction) return reduced(m, e);
    Operands x{};
    for (std::size_t i = 0; i < m.operands.size(); ++i) x[i] = operand(m, i, e);
    const DType to = m.dtype;
    if (m.op == MathOp::cast) return converted(to, x[0], is_float(dtype(m, 0)));
    if (m.op == MathOp::bit_not)
      return to == i1 ? 1 - x[0] : reference::wrapped(to, ~static_cast<std::int64_t>(x[0]));
    const bool floats = in_floats(m);
    if (info(m.op).result == ResultRule::truth) return compared(m.op, as(floats, x[0]), as(floats, x[1]));
    return converted(to, floats ? of_floats(m.op, x) : of_integers(m.op, x), floats);
  }
  static double as(bool floats, double x) { return floats ? static_cast<float>(x) : x; }
  /// Whether it is computed in f32: where a number is a float, or integers are divided or taken as real.
  bool in_floats(const Made& m) const {
    const ResultRule rule = info(m.op).result;
    if (rule == ResultRule::real || rule == ResultRule::division) return true;
    for (std::size_t i = rule == ResultRule::select ? 1 : 0; i < m.operands.size(); ++i)
      if (is_float(dtype(m, i))) return true;
    return false;
  }

  /// A chain of fused operations along K.
  static double product(const NdArray& a, const NdArray& b, std::size_t e) {
    float sum = 0;
    for (std::size_t k = 0; k < 9; ++k)
      sum = std::fmaf(static_cast<float>(reference::number(a, e / 4 * 9 + k)),
                      static_cast<float>(reference::number(b, e % 4 * 9 + k)), sum);
    return sum;
  }

  double reduced(const Made& m, std::size_t e) const {
    const NdArray& from = left_[m.operands[0]];
    const auto width = static_cast<std::size_t>(from.shape()[1]);
    std::vector<double> column;
    for (std::size_t i = 0; i < static_cast<std::size_t>(from.shape()[m.axis]); ++i)
      column.push_back(reference::number(from, m.axis == 1 ? e * width + i : i * width + e));
    if (m.op == MathOp::sum) return sum(column, m.dtype);
    double best = column[0];
    for (const double x : column) best = m.op == MathOp::max ? larger(best, x) : smaller(best, x);
    return best;
  }
  /// Integers wrap. Floats: sixteen partial sums in f32, halved, rounded once.
  static double sum(const std::vector<double>& column, DType to) {
    if (!is_float(to)) {
      std::int64_t all = 0;
      for (const double x : column) all += static_cast<std::int64_t>(x);
      return reference::wrapped(to, all);
    }
    std::array<float, 16> partial{};
    for (std::size_t i = 0; i < column.size(); ++i) partial[i % 16] += static_cast<float>(column[i]);
    for (std::size_t half = 8; half > 0; half /= 2)
      for (std::size_t i = 0; i < half; ++i) partial[i] += partial[i + half];
    return reference::rounded(to, partial[0]);
  }

  std::string said(const Made& m, std::size_t e, double got) const {
    std::string text = m.product ? "dot" : std::string(to_string(m.op));
    for (std::size_t i = 0; i < m.operands.size(); ++i) {
      text += " " + std::string(to_string(dtype(m, i)));
      if (!m.product && info(m.op).kind != MathKind::reduction)
        text += " " + std::to_string(operand(m, i, e));
    }
    return text + " gave " + std::to_string(got) + " as " + std::string(to_string(m.dtype));
  }

  const std::vector<Made>& made_;
  std::vector<NdArray> left_;
};

TEST(RandomPrograms, GiveWhatEveryOperationMeansWhateverTheNumbers) {
  const std::vector<std::vector<std::string>> machines = {
      {}, {"pe.pe_cpu.issue=in_order"}, {"pe.pe_cpu.queue_depth=2", "pe.pe_dma.outstanding=3"}};
  const auto [first, end] = testing::seeds(0, 100);
  for (std::uint32_t seed = first; seed < end; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SimulatedWorld world(machines[seed % machines.size()]);
    for (std::size_t i = 0; i < RandomProgram::kInputs; ++i)
      world.put(kPe, kPlace * i, RandomProgram::input(seed, i));
    RandomProgram program(seed, 60);
    world.kernels.run(kPe, [&](tl::Context& tl) { program(tl); });
    world.replay(1 + static_cast<int>(seed % 3));
    const Checker checker(world, program.made());
    for (std::size_t i = 0; i < program.made().size() && !::testing::Test::HasFatalFailure(); ++i)
      checker.check(i);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace kernbench::data::random_program_test
