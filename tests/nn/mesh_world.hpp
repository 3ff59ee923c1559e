// Attention over lines of ranks, run on small machines.
#pragma once

#include <cmath>
#include <random>

#include "dist/dist_world.hpp"
#include "kernbench/attention.hpp"
#include "nn/attention_reference.hpp"

namespace kernbench::nn {

using dist::machine;
using namespace dtypes;

enum class LineKind { pes, cubes, cubes_of_sips, sips };

struct MeshCase {
  bool prefill = true;
  LineKind line = LineKind::pes;
  int ranks = 4, h_q = 1, h_kv = 1, d = 64, S_q = 16, S_kv = 16;
  std::vector<std::string> ccl = {};  // overrides of ccl.yaml

  std::int64_t q_rows() const { return std::int64_t{h_q} * S_q; }  // of a rank
  std::int64_t kv_rows() const { return std::int64_t{h_kv} * S_kv; }
};

inline std::string text_of(const MeshCase& c) {
  static constexpr std::array kLines = {"pes", "cubes", "cubes_of_sips", "sips"};
  return fmt::format("{} over {} {}, heads {}/{}, d {}, S_q {}, S_kv {}, {}", c.prefill ? "kv" : "mlo",
                     c.ranks, kLines[static_cast<std::size_t>(c.line)], c.h_q, c.h_kv, c.d, c.S_q, c.S_kv,
                     fmt::join(c.ccl, " "));
}

/// Normal numbers, rounded to f16.
inline NdArray normal(const Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> gauss;
  NdArray array(f16, shape);
  for (auto& x : array.view<F16>()) x = F16(gauss(random));
  return array;
}

struct MeshRun {
  double error = 0;  // the largest |got − expected|, where values are about 1
  std::uint64_t gemms = 0;
  std::vector<std::string> hazards;
  std::vector<trace::Op> ops;
  std::unique_ptr<Torch> torch;
};

/// What the ranks hold, one after the other: of tensors (ranks, heads, S, d).
struct MeshArrays {
  NdArray q, k, v;
  explicit MeshArrays(const MeshCase& c)
      : q(normal({c.prefill ? c.ranks : 1, c.h_q, c.S_q, c.d}, 1)),
        k(normal({c.ranks, c.h_kv, c.S_kv, c.d}, 2)),
        v(normal({c.ranks, c.h_kv, c.S_kv, c.d}, 3)) {}
};

/// (ranks, heads, S, d) as (1, heads, ranks · S, d).
inline NdArray along_sequence(const NdArray& a) {
  const auto ranks = a.shape()[0], heads = a.shape()[1], S = a.shape()[2], d = a.shape()[3];
  NdArray out(f16, {1, heads, ranks * S, d});
  for (std::int64_t r = 0; r < ranks; ++r)
    for (std::int64_t h = 0; h < heads; ++h)
      std::ranges::copy(a.view<F16>().subspan(static_cast<std::size_t>((r * heads + h) * S * d),
                                              static_cast<std::size_t>(S * d)),
                        out.view<F16>().begin() + (h * ranks + r) * S * d);
  return out;
}

/// One rank's part of what it shall compute, for rank r.
inline NdArray expected(const MeshCase& c, const MeshArrays& x, int rank) {
  NdArray q(f16, {1, c.h_q, c.S_q, c.d});
  const auto n = static_cast<std::size_t>(q.elements());
  std::ranges::copy(x.q.view<F16>().subspan(c.prefill ? static_cast<std::size_t>(rank) * n : 0, n),
                    q.view<F16>().begin());
  return plain_attention(q, along_sequence(x.k), along_sequence(x.v));
}

inline double largest_difference(const NdArray& got, const NdArray& expected) {
  const auto a = as_doubles(got), b = as_doubles(expected);
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double off = std::abs(a[i] - b[i]);
    if (!(off <= most)) most = off;  // NaN counts
  }
  return most;
}

/// Rows [rank · rows, …) of an array of rows of d.
inline NdArray rows_of(const NdArray& a, std::int64_t rank, std::int64_t rows) {
  const auto d = a.shape()[a.shape().rank() - 1];
  const auto n = static_cast<std::size_t>(rows * d);
  return NdArray::of<F16>({rows, d}, a.view<F16>().subspan(static_cast<std::size_t>(rank) * n, n));
}

inline topology::Machine machine_for(const MeshCase& c) {
  switch (c.line) {
    case LineKind::pes:
      return machine(1, "1x1", {fmt::format("cube.pe_layout.pe_per_corner={}", c.ranks > 8 ? 4 : 2)});
    case LineKind::cubes:
      return machine(1, "4x4");
    case LineKind::cubes_of_sips:
      return machine(2, "2x4");
    case LineKind::sips:
      return machine(c.ranks, "1x1");
  }
  return {};
}

inline dist::QueueLaunch wiring_for(const MeshCase& c) {
  const dist::Group cubes(Torch::Ahbm::cubes);
  switch (c.line) {
    case LineKind::pes:
      return {.name = "line", .topology = "intracube_ring"};
    case LineKind::cubes:
      if (c.ranks <= 4)
        return {.name = "line",
                .topology = "intercube_intersip",
                .mapper = "pe0_per_cube",
                .group = cubes,
                .grid = Grid{8, c.ranks}};
      return {.name = "line",
              .topology = "cube_line",
              .mapper = "pe0_per_cube",
              .group = cubes,
              .grid = Grid{8, c.ranks}};
    case LineKind::cubes_of_sips:
      return {.name = "line",
              .topology = "cube_line_intersip",
              .mapper = "pe0_per_cube",
              .group = cubes,
              .grid = Grid{8, 8}};
    case LineKind::sips:
      return {.name = "line", .topology = "line_1d", .mapper = "leader_only"};
  }
  return {};
}

inline DPPolicy placement_for(const MeshCase& c, int here) {
  if (c.line == LineKind::pes) return {.pe = Split::row_wise, .num_cubes = 1, .num_pes = here};
  return {.cube = Split::row_wise, .num_cubes = here, .num_pes = 1};
}

/// Runs one SIP's part: ranks first … first + here − 1, and returns the results of these.
inline NdArray run_part(Torch& torch, const MeshCase& c, const MeshArrays& x, int first, int here) {
  const auto split = placement_for(c, here);
  auto everywhere = split;
  (c.line == LineKind::pes ? everywhere.pe : everywhere.cube) = Split::replicate;
  const auto part = [&](const NdArray& a, std::int64_t rows, const char* name) {
    NdArray mine(f16, {here * rows, c.d});
    std::ranges::copy(
        a.view<F16>().subspan(static_cast<std::size_t>(first * rows * c.d), mine.view<F16>().size()),
        mine.view<F16>().begin());
    return torch.from_numpy(mine, split, name);
  };
  const Tensor q = c.prefill ? part(x.q, c.q_rows(), "q")
                             : torch.from_numpy(x.q.reshaped({c.q_rows(), c.d}), everywhere, "q");
  const Tensor k = part(x.k, c.kv_rows(), "k"), v = part(x.v, c.kv_rows(), "v");
  const Tensor o = torch.zeros({here * c.q_rows(), c.d}, f16, split, "o");
  const int axis = c.line == LineKind::pes ? 0 : c.line == LineKind::sips ? 2 : 1;
  const int width = c.line == LineKind::cubes           ? (c.ranks <= 4 ? 0 : 4)
                    : c.line == LineKind::cubes_of_sips ? 2
                                                        : 0;
  dist::launch(torch, wiring_for(c), c.prefill ? attention_mesh_kv_kernel : attention_mesh_mlo_kernel, q, k,
               v, o, c.S_q, c.S_kv, c.h_q, c.h_kv, c.d, c.ranks, axis, width);
  return o.numpy();
}

inline double worst_of(const MeshCase& c, const MeshArrays& x, const NdArray& got, int first, int here) {
  double worst = 0;
  for (int r = 0; r < here; ++r) {
    const auto off = largest_difference(rows_of(got, r, c.q_rows()), expected(c, x, first + r));
    if (!(off <= worst)) worst = off;
  }
  return worst;
}

inline MeshRun run_mesh(const MeshCase& c) {
  MeshRun run;
  run.torch = std::make_unique<Torch>(machine_for(c), TorchOptions{.hazards = true});
  Torch& torch = *run.torch;
  if (!c.ccl.empty()) dist::configure_further(torch, c.ccl);
  const MeshArrays x(c);
  const bool many = c.line == LineKind::sips || c.line == LineKind::cubes_of_sips;
  const int sips = many ? torch.machine().sips() : 1, here = c.ranks / sips;
  if (!many) run.error = worst_of(c, x, run_part(torch, c, x, 0, c.ranks), 0, c.ranks);
  if (many)
    dist::spawn(
        torch,
        [&](int sip) {
          torch.ahbm.set_device(sip);
          const auto off = worst_of(c, x, run_part(torch, c, x, sip * here, here), sip * here, here);
          if (!(off <= run.error)) run.error = off;
        },
        sips);
  for (const auto& hazard : torch.hazards()) run.hazards.push_back(hazard.kind);
  run.gemms = torch.log().summary().total.gemm.count;
  run.ops = torch.log().ops();
  return run;
}

/// 2 · h_kv · n² products of prefill over n ranks, 2 · h_kv · n of decode.
inline std::uint64_t products(const MeshCase& c) {
  return static_cast<std::uint64_t>(2 * c.h_kv * c.ranks * (c.prefill ? c.ranks : 1));
}

// Values are about 1, and rounded to f16 at the end: half a unit of their last place is 5e-4.
inline void expect_right(const MeshCase& c) {
  const auto run = run_mesh(c);
  EXPECT_LT(run.error, 2e-3) << text_of(c);
  EXPECT_TRUE(run.hazards.empty()) << text_of(c);
  EXPECT_EQ(run.gemms, products(c)) << text_of(c);
}

}  // namespace kernbench::nn
