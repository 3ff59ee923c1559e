// Random collectives: groups of SIPs, cubes, PEs and chosen ranks, every float dtype, i32 and i8, layouts with copies and
// with tiles, NaN here and there. Numbers are so small that they add up exactly in any order; what must come out is
// computed from what went in.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "ccl/arrays.hpp"
#include "dist/dist_world.hpp"
#include "seeds.hpp"

namespace kernbench::dist::random_collectives_test {
namespace {

using ccl::array_of;
using Numbers = std::vector<double>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Members' numbers combined, element by element. A NaN anywhere is NaN.
Numbers combined(const std::vector<Numbers>& all, ReduceOp op) {
  Numbers out = all.front();
  for (std::size_t m = 1; m < all.size(); ++m)
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double a = out[i], b = all[m][i];
      if (std::isnan(a) || std::isnan(b))
        out[i] = kNan;
      else
        out[i] = op == ReduceOp::MAX    ? std::max(a, b)
                 : op == ReduceOp::MIN  ? std::min(a, b)
                 : op == ReduceOp::PROD ? a * b
                                        : a + b;
    }
  if (op == ReduceOp::AVG)
    for (double& x : out) x /= static_cast<double>(all.size());
  return out;
}

Numbers part(const Numbers& all, int index, int parts) {
  const auto n = static_cast<std::ptrdiff_t>(all.size()) / parts;
  return {all.begin() + index * n, all.begin() + (index + 1) * n};
}
Numbers joined(const std::vector<Numbers>& all) {
  Numbers out;
  for (const Numbers& one : all) out.insert(out.end(), one.begin(), one.end());
  return out;
}

/// Equal as numbers, NaN to NaN; −0 is 0.
::testing::AssertionResult holds(const Tensor& tensor, const Numbers& want) {
  const NdArray array = tensor.numpy();
  const NdArray rounded = array_of(array.dtype(), array.shape(), want);
  const auto got = ccl::numbers(array), expected = ccl::numbers(rounded);
  for (std::size_t i = 0; i < got.size(); ++i)
    if (got[i] != expected[i] && !(std::isnan(got[i]) && std::isnan(expected[i])))
      return ::testing::AssertionFailure() << "element " << i << " is " << got[i] << ", not " << expected[i];
  return ::testing::AssertionSuccess();
}

/// One random collective, the same on all ranks.
class Draw {
 public:
  explicit Draw(std::uint32_t seed) : random_(seed) {
    sips = pick(1, 4), cubes = pick({1, 2, 4});
    dtype = all(f16, bf16, f32, f8e4m3, f8e5m2, i32, i8);
    op = all(ReduceOp::SUM, ReduceOp::MAX, ReduceOp::MIN, ReduceOp::PROD, ReduceOp::AVG);
    if (op == ReduceOp::AVG && is_integer(dtype)) op = ReduceOp::SUM;
    kind = pick(0, 6);
    columns = 8 * pick(1, 6);
  }

  int pick(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }
  int pick(std::initializer_list<int> these) {
    return these.begin()[pick(0, static_cast<int>(these.size()) - 1)];
  }
  template <class T, class... More>
  T all(T first, More... more) {
    const T these[] = {first, more...};
    return these[pick(0, static_cast<int>(sizeof...(more)))];
  }

  TorchOptions options() {
    return {.threads = pick(1, 4), .replay_threads = pick(1, 2), .packets = pick(0, 3) == 0};
  }
  topology::Machine machine() const {
    return dist::machine(sips, cubes == 4 ? "2x2" : cubes == 2 ? "2x1" : "1x1");
  }

  /// −1, 0, 1, and beyond the eighth member 0 (1 where they are multiplied): exact in f8e5m2 in any order. Where NaN means
  /// something, one in sixteen members has one.
  std::vector<Numbers> numbers(int members, std::int64_t n) {
    std::vector<Numbers> out;
    for (int m = 0; m < members; ++m) {
      Numbers mine(static_cast<std::size_t>(n), op == ReduceOp::PROD ? 1 : 0);
      if (m < 8)
        for (double& x : mine) x = pick(-1, 1);
      if (is_float(dtype) && pick(0, 15) == 0)
        mine[static_cast<std::size_t>(pick(0, static_cast<int>(n) - 1))] = kNan;
      out.push_back(mine);
    }
    return out;
  }

  std::vector<int> some_ranks(int world) {
    std::vector<int> ranks(static_cast<std::size_t>(world));
    std::iota(ranks.begin(), ranks.end(), 0);
    std::shuffle(ranks.begin(), ranks.end(), random_);
    ranks.resize(static_cast<std::size_t>(pick(1, world)));
    return ranks;
  }

  int sips, cubes, kind;
  DType dtype;
  ReduceOp op;
  std::int64_t columns;

 private:
  std::mt19937 random_;
};

// ── ranks as members: SIPs, PEs, or some of them ──

class OfRanks {
 public:
  OfRanks(Torch& torch, Draw& draw) : torch_(torch), draw_(draw) {
    const int world = get_world_size(torch);
    members_.resize(static_cast<std::size_t>(world));
    std::iota(members_.begin(), members_.end(), 0);
    if (draw.pick(0, 1) == 0) members_ = draw.some_ranks(world), group_ = Group::of(members_);
    size_ = static_cast<int>(members_.size());
    rows_ = draw.pick({1, 4, 8});
    policy_ = policy();
    root_ = draw.pick(0, size_ - 1);
    in_ = draw.numbers(size_, parts_in() * rows_ * draw.columns);
  }

  void run() {
    on_all_ranks(torch_, [&](int rank) {
      const auto at = std::ranges::find(members_, rank);
      if (at != members_.end()) run_member(static_cast<int>(at - members_.begin()));
    });
  }

 private:
  /// reduce_scatter and all_to_all begin with a part for every member.
  std::int64_t parts_in() const { return draw_.kind == 4 || draw_.kind == 5 ? size_ : 1; }

  /// Where elements stay in their places any layout will do; else rows must not be split.
  std::optional<DPPolicy> policy() {
    if (ranks_are_pes(torch_)) return {};
    const DPPolicy columns{.cube = Split::column_wise, .pe = Split::column_wise, .num_cubes = 1},
        copies{.cube = Split::replicate, .pe = Split::replicate};
    if (draw_.kind > 2)
      return draw_.all(std::optional<DPPolicy>(), std::optional(columns), std::optional(copies));
    rows_ = 8;
    return draw_.all(
        std::optional(columns), std::optional(copies),
        std::optional(DPPolicy{.cube = Split::replicate, .pe = Split::row_wise}),
        std::optional(DPPolicy{.cube = Split::row_wise, .pe = Split::replicate}),
        std::optional(DPPolicy{.pe = Split::tiled_row_major, .num_cubes = 1, .tile = TileSize{1, 8}}),
        std::optional(DPPolicy{.pe = Split::tiled_column_major, .num_cubes = 1, .tile = TileSize{1, 8}}),
        std::optional(DPPolicy::whole_on({draw_.cubes - 1, 3})));
  }

  Tensor made(const Numbers& numbers) {
    return torch_.from_numpy(array_of(draw_.dtype, shape_of(numbers.size()), numbers), policy_);
  }
  Tensor empty(std::size_t elements) { return torch_.empty(shape_of(elements), draw_.dtype, policy_); }
  Shape shape_of(std::size_t elements) const {
    return {static_cast<std::int64_t>(elements) / draw_.columns, draw_.columns};
  }

  void run_member(int me) {
    const Numbers& mine = in_[static_cast<std::size_t>(me)];
    const Tensor x = made(mine);
    switch (draw_.kind) {
      case 0:
        all_reduce(x, draw_.op, group_);
        EXPECT_TRUE(holds(x, combined(in_, draw_.op))) << "all_reduce";
        break;
      case 1:
        reduce(x, root_, draw_.op, group_);
        if (me == root_) {
          EXPECT_TRUE(holds(x, combined(in_, draw_.op))) << "reduce";
        }
        break;
      case 2:
        broadcast(x, root_, group_);
        EXPECT_TRUE(holds(x, in_[static_cast<std::size_t>(root_)])) << "broadcast";
        break;
      case 3:
        return gather(x, mine.size());
      case 4: {
        const Tensor out = empty(mine.size() / static_cast<std::size_t>(size_));
        reduce_scatter_tensor(out, x, draw_.op, group_);
        EXPECT_TRUE(holds(out, part(combined(in_, draw_.op), me, size_))) << "reduce_scatter";
        break;
      }
      case 5:
        return exchange(x, me);
      default:
        return pass_on(x, me);
    }
  }

  void gather(const Tensor& x, std::size_t elements) {
    const Tensor out = empty(elements * static_cast<std::size_t>(size_));
    all_gather_into_tensor(out, x, group_);
    EXPECT_TRUE(holds(out, joined(in_))) << "all_gather";
  }
  void exchange(const Tensor& x, int me) {
    const Tensor out = empty(in_.front().size());
    all_to_all_single(out, x, group_);
    std::vector<Numbers> parts;
    for (const Numbers& from : in_) parts.push_back(part(from, me, size_));
    EXPECT_TRUE(holds(out, joined(parts))) << "all_to_all";
  }
  /// To the next member, from the one before.
  void pass_on(const Tensor& x, int me) {
    if (size_ == 1) return;
    const Tensor y = empty(in_.front().size());
    const int before = (me + size_ - 1) % size_;
    const Work sent = isend(x, members_[static_cast<std::size_t>((me + 1) % size_)]);
    recv(y, members_[static_cast<std::size_t>(before)]);
    sent.wait();
    EXPECT_TRUE(holds(y, in_[static_cast<std::size_t>(before)])) << "isend and recv";
  }

  Torch& torch_;
  Draw& draw_;
  std::vector<int> members_;
  Group group_;
  int size_ = 1, root_ = 0;
  std::int64_t rows_ = 1;
  std::optional<DPPolicy> policy_;
  std::vector<Numbers> in_;
};

TEST(RandomCollectives, BetweenSipsGiveWhatTheyMean) {
  const auto [first, end] = testing::seeds(0, 60);
  for (std::uint32_t seed = first; seed < end && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Draw draw(seed);
    Torch torch(draw.machine(), draw.options());
    OfRanks(torch, draw).run();
    EXPECT_TRUE(torch.hazards().empty());
  }
}

TEST(RandomCollectives, WhereRanksArePesGiveWhatTheyMean) {
  const auto [first, end] = testing::seeds(10'000, 60);
  for (std::uint32_t seed = first; seed < end && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Draw draw(seed);
    Torch torch(draw.machine(), draw.options());
    use_pes(torch, draw.pick(1, std::min(12, 8 * draw.sips * draw.cubes)));
    OfRanks(torch, draw).run();
    EXPECT_TRUE(torch.hazards().empty());
  }
}

// ── cubes and PEs as members ──

/// A row of a SIP's tensor for every member on it.
class OfRows {
 public:
  OfRows(Torch& torch, Draw& draw, bool pes) : torch_(torch), draw_(draw) {
    group_ = pes ? Group(torch.ahbm.pes) : Group(torch.ahbm.cubes);
    rows_ = draw.cubes;
    if (pes && draw.pick(0, 1) == 0) {
      rows_ *= 8, policy_ = {.cube = Split::row_wise, .pe = Split::row_wise};
    } else if (pes || draw.pick(0, 2) == 0) {
      policy_ = kRowPerCube;
    } else {
      policy_ = {.cube = Split::row_wise, .pe = draw.all(Split::column_wise, Split::replicate)};
    }
    in_ = draw.numbers(draw.sips * rows_, draw.columns);
    root_ = draw.pick(0, draw.sips * rows_ - 1);
  }

  void run() {
    on_all_ranks(torch_, [&](int rank) {
      const Tensor x =
          torch_.from_numpy(array_of(draw_.dtype, {rows_, draw_.columns}, rows_of(in_, rank)), policy_);
      if (draw_.kind < 3) {
        all_reduce(x, draw_.op, group_);
        EXPECT_TRUE(holds(x, of_all(combined(in_, draw_.op)))) << "all_reduce";
      } else if (draw_.kind < 5) {
        broadcast(x, root_, group_);
        EXPECT_TRUE(holds(x, of_all(in_[static_cast<std::size_t>(root_)]))) << "broadcast";
      } else {
        gather(x);
      }
    });
  }

 private:
  /// What the members on a SIP have, one after the other.
  Numbers rows_of(const std::vector<Numbers>& members, int sip) const {
    return joined({members.begin() + sip * rows_, members.begin() + (sip + 1) * rows_});
  }
  Numbers of_all(const Numbers& same) const {
    return joined(std::vector<Numbers>(static_cast<std::size_t>(rows_), same));
  }
  void gather(const Tensor& x) {
    if (policy_ == kRowPerCube || policy_.pe == Split::row_wise) {
      const Tensor out = torch_.empty({rows_, draw_.columns * draw_.sips * rows_}, draw_.dtype, policy_);
      all_gather_into_tensor(out, x, group_);
      EXPECT_TRUE(holds(out, of_all(joined(in_)))) << "all_gather";
    }
  }

  Torch& torch_;
  Draw& draw_;
  Group group_;
  DPPolicy policy_;
  int rows_ = 1, root_ = 0;
  std::vector<Numbers> in_;
};

TEST(RandomCollectives, BetweenCubesGiveWhatTheyMean) {
  const auto [first, end] = testing::seeds(20'000, 40);
  for (std::uint32_t seed = first; seed < end && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Draw draw(seed);
    Torch torch(draw.machine(), draw.options());
    OfRows(torch, draw, false).run();
    EXPECT_TRUE(torch.hazards().empty());
  }
}

TEST(RandomCollectives, BetweenPesGiveWhatTheyMean) {
  const auto [first, end] = testing::seeds(30'000, 40);
  for (std::uint32_t seed = first; seed < end && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Draw draw(seed);
    Torch torch(draw.machine(), draw.options());
    OfRows(torch, draw, true).run();
    EXPECT_TRUE(torch.hazards().empty());
  }
}

}  // namespace
}  // namespace kernbench::dist::random_collectives_test
