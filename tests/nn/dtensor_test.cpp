#include "kernbench/dtensor.hpp"

#include "dist/dist_world.hpp"
#include "nn/nn_world.hpp"

namespace kernbench::nn::dtensor_test {
namespace {

struct MeshShape {
  std::vector<int> extents;
  std::string name;
  // NOLINTNEXTLINE(readability-identifier-naming): GoogleTest looks for it
  friend void PrintTo(const MeshShape& mesh, std::ostream* out) { *out << mesh.name; }
};

topology::Machine machine_for(const MeshShape& mesh) {
  int n = 1;
  for (const int e : mesh.extents) n *= e;
  return small({fmt::format("system.sips.count={}", n)});
}

class Meshes : public ::testing::TestWithParam<MeshShape> {
 public:
  /// Runs `fn(mesh)` on every rank.
  void on_mesh(Torch& torch, const std::function<void(const DeviceMesh&)>& fn) {
    spawn(
        torch,
        [&](int rank) {
          torch.ahbm.set_device(rank);
          dist::init_process_group(torch);
          fn(DeviceMesh(torch, GetParam().extents));
        },
        dist::get_world_size(torch));
  }
  /// Every list of placements for the mesh.
  std::vector<Placements> all(const std::vector<Placement>& of) const {
    std::vector<Placements> lists;
    for (const Placement& a : of) {
      if (GetParam().extents.size() == 1)
        lists.push_back({a});
      else
        for (const Placement& b : of) lists.push_back({a, b});
    }
    return lists;
  }
};
INSTANTIATE_TEST_SUITE_P(Shapes, Meshes,
                         ::testing::Values(MeshShape{{2}, "1x2"}, MeshShape{{2, 2}, "2x2"},
                                           MeshShape{{2, 3}, "2x3"}),
                         [](const auto& of) { return of.param.name; });

std::string words(const Placements& list) {
  std::string text;
  for (const Placement& p : list) text += to_string(p) + " ";
  return text;
}

/// Multiples of 1/64 in −1 … 1, none of them −0.
NdArray exact_array(const Shape& shape, unsigned seed) {
  NdArray array = random_array(shape, f16, seed);
  for (F16& e : array.view<F16>()) e = F16(std::round(static_cast<float>(e) * 64) / 64 + 0.0f);
  return array;
}

/// A tensor with these placements whose whole is `here`. Members of partial dimensions each have a part of the sum: one of them
/// the array less what the others have, which is a quarter for each element. Of multiples of 1/64 all that is exact in f16.
DTensor placed(const Tensor& here, const DeviceMesh& mesh, const Placements& placements) {
  Placements without = placements;
  int mine = 0, members = 1;  // my number among the members of the partial dimensions
  for (int d = 0; d < mesh.ndim(); ++d)
    if (auto& p = without[static_cast<std::size_t>(d)]; p.is_partial()) {
      p = Replicate();
      mine = mine * mesh.size(d) + mesh.coordinate(d);
      members *= mesh.size(d);
    }
  const Tensor local = distribute_tensor(here, mesh, without).to_local();
  if (members == 1) return DTensor::from_local(local, mesh, placements);
  Torch& torch = mesh.torch();
  const auto full = [&](double value) {
    return torch.full(local.shape(), value, local.dtype(), local.dp(), "part");
  };
  return DTensor::from_local(mine == 0 ? add(local, full(-0.25 * (members - 1))) : full(0.25), mesh,
                             placements);
}

const std::vector<Placement> kAny = {Replicate(), Shard(0), Shard(1), Partial()};
const std::vector<Placement> kTargets = {Replicate(), Shard(0), Shard(1)};

// Extents are multiples of 12: two ranks after two, and two after three divide them on one axis.
TEST_P(Meshes, RedistributeBetweenAllPairs) {
  Torch torch(machine_for(GetParam()));
  std::mt19937 random(static_cast<unsigned>(GetParam().name.back()));
  const Shape shape{12 * static_cast<std::int64_t>(1 + random() % 5),
                    12 * static_cast<std::int64_t>(1 + random() % 7)};
  const NdArray array = exact_array(shape, 3);
  on_mesh(torch, [&](const DeviceMesh& mesh) {
    const Tensor here = torch.from_numpy(array, {}, "x");
    for (const Placements& from : all(kAny))
      for (const Placements& to : all(kTargets)) {
        SCOPED_TRACE(words(from) + "→ " + words(to) + to_string(shape));
        const DTensor x = placed(here, mesh, from).redistribute(to);
        EXPECT_EQ(x.placements(), to);
        EXPECT_EQ(x.shape(), shape);
        EXPECT_EQ(x.to_local().numpy(), distribute_tensor(here, mesh, to).to_local().numpy());
        EXPECT_EQ(x.full_tensor().numpy(), array);
      }
  });
}

TEST_P(Meshes, EveryRowOfTheRuleTables) {
  Torch torch(machine_for(GetParam()));
  const NdArray a = exact_array({24, 36}, 1), b = exact_array({36, 48}, 2), c = exact_array({24, 36}, 3);
  const Plain product = times(plain(a), plain(b));
  Plain sum = plain(a), mixed = plain(a);
  for (std::size_t i = 0; i < sum.x.size(); ++i) sum.x[i] += plain(c).x[i], mixed.x[i] *= plain(c).x[i];
  on_mesh(torch, [&](const DeviceMesh& mesh) {
    const Tensor left = torch.from_numpy(a, {}, "a"), right = torch.from_numpy(b, {}, "b"),
                 other = torch.from_numpy(c, {}, "c");
    const auto in_all_dims = [&](const Placement& p) { return Placements(GetParam().extents.size(), p); };
    const auto check = [&](const Rule& rule, const DTensor& got, const Plain& expected) {
      SCOPED_TRACE(to_string(rule.a) + " and " + to_string(rule.b));
      EXPECT_EQ(got.placements(), in_all_dims(rule.result));
      EXPECT_LT(worst(got.full_tensor().numpy(), expected), 2e-2);
    };
    for (const Rule& r : matmul_rules())
      check(r, matmul(placed(left, mesh, in_all_dims(r.a)), placed(right, mesh, in_all_dims(r.b))), product);
    for (const Rule& r : add_rules())
      check(r, placed(left, mesh, in_all_dims(r.a)) + placed(other, mesh, in_all_dims(r.b)), sum);
    for (const Rule& r : mul_rules())
      check(r, placed(left, mesh, in_all_dims(r.a)) * placed(other, mesh, in_all_dims(r.b)), mixed);
  });
}

TEST_P(Meshes, OneOperand) {
  Torch torch(machine_for(GetParam()));
  const NdArray a = exact_array({12, 24}, 1);
  on_mesh(torch, [&](const DeviceMesh& mesh) {
    const Tensor here = torch.from_numpy(a, {}, "a");
    for (const Placements& from : all(kAny)) {
      SCOPED_TRACE(words(from));
      const DTensor x = placed(here, mesh, from);
      EXPECT_LT(
          worst(relu(x).full_tensor().numpy(), mapped(plain(a), [](double v) { return std::max(v, 0.0); })),
          1e-3);
      EXPECT_LT(worst(silu(x).full_tensor().numpy(),
                      mapped(plain(a), [](double v) { return v / (1 + std::exp(-v)); })),
                4e-3);
      const bool last = std::ranges::any_of(from, [](const Placement& p) { return p.is_shard(1); });
      if (last)
        EXPECT_THAT(complaint([&] { softmax(x); }),
                    HasSubstr("the last axis, over which it goes, is Shard(1)"));
      else
        EXPECT_NEAR(
            plain(softmax(x).full_tensor().numpy()).at(3, 3),
            std::exp(plain(a).at(3, 3)) /
                [&] {
                  double s = 0;
                  for (std::int64_t c = 0; c < 24; ++c) s += std::exp(plain(a).at(3, c));
                  return s;
                }(),
            1e-3);
    }
  });
}

// Each redistribute is the collective that it names, in the log of the run.
TEST(DistributedTensor, CollectivesAreThoseOfTheTable) {
  struct Way {
    Placement from, to;
    std::string kernel;  // empty: none
  };
  const std::vector<Way> ways = {{Shard(0), Replicate(), "all_gather"},
                                 {Shard(1), Replicate(), "all_gather"},
                                 {Shard(0), Shard(1), "all_to_all"},
                                 {Shard(1), Shard(0), "all_to_all"},
                                 {Partial(), Shard(0), "reduce_scatter"},
                                 {Partial(), Shard(1), "reduce_scatter"},
                                 {Partial(), Replicate(), "intersip_allreduce"},
                                 {Replicate(), Shard(0), ""},
                                 {Replicate(), Shard(1), ""}};
  for (const Way& way : ways) {
    SCOPED_TRACE(to_string(way.from) + " → " + to_string(way.to));
    Torch torch(small({"system.sips.count=2"}));
    spawn(
        torch,
        [&](int rank) {
          torch.ahbm.set_device(rank);
          dist::init_process_group(torch);
          const DeviceMesh mesh(torch, {2}, {"tp"});
          EXPECT_EQ(mesh.dim("tp"), 0);
          const Tensor local =
              torch.zeros({32, 64}, f16, DPPolicy{.pe = Split::column_wise, .num_cubes = 1}, "x");
          DTensor::from_local(local, mesh, {way.from}).redistribute({way.to});
        },
        2);
    torch.synchronize();
    std::set<std::string> collectives;
    for (const auto& t : torch.traces())
      if (t.phase == runtime::Phase::launch && t.note.empty()) collectives.insert(t.name);
    EXPECT_EQ(collectives, way.kernel.empty() ? std::set<std::string>() : std::set<std::string>{way.kernel});
  }
}

TEST(DistributedTensor, WhatCannotBeIsRefused) {
  Torch torch(small({"system.sips.count=2"}));
  spawn(
      torch,
      [&](int rank) {
        torch.ahbm.set_device(rank);
        dist::init_process_group(torch);
        EXPECT_THAT(complaint([&] { DeviceMesh(torch, {3}); }),
                    HasSubstr("a mesh of 3 ranks in a world of 2"));
        EXPECT_THAT(complaint([&] { DeviceMesh(torch, {1, 2}, {"a", "a"}); }), HasSubstr("all different"));
        const DeviceMesh mesh(torch, {2}, {"tp"});
        EXPECT_THAT(complaint([&] { mesh.dim("dp"); }), HasSubstr("dimensions: tp"));
        const Tensor x = torch.zeros({3, 8}, f16);
        EXPECT_THAT(complaint([&] { distribute_tensor(x, mesh, {Shard(2)}); }),
                    HasSubstr("Shard(0), Shard(1)"));
        EXPECT_THAT(complaint([&] { distribute_tensor(x, mesh, {Shard(0)}); }),
                    HasSubstr("axis 0 of [3, 8] over 2"));
        EXPECT_THAT(complaint([&] { distribute_tensor(x, mesh, {Partial()}); }),
                    HasSubstr("comes from operators alone"));
        EXPECT_THAT(complaint([&] { distribute_tensor(x, mesh, {}); }), HasSubstr("0 placements"));
        const DTensor y = distribute_tensor(x, mesh, {Shard(1)});
        EXPECT_THAT(complaint([&] { matmul(y, y); }), HasSubstr("[3, 8] and [3, 8]"));
      },
      2);
}

}  // namespace
}  // namespace kernbench::nn::dtensor_test
