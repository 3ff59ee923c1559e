// Machines and helpers for tests of ranks and collectives.
#pragma once

#include <fmt/format.h>

#include "kernbench/distributed.hpp"
#include "runtime/host_world.hpp"

namespace kernbench::dist {

using runtime::complaint;
using runtime::counting;
using runtime::filled;
using runtime::load;
using namespace dtypes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

inline const DPPolicy kRowPerCube{.cube = Split::row_wise, .pe = Split::replicate, .num_pes = 1};
inline const DPPolicy kColumns{.cube = Split::column_wise, .pe = Split::column_wise};

/// `sips` SIPs of `cubes` (`2x2`, width × height) with 8 PEs.
inline topology::Machine machine(int sips, const std::string& cubes = "2x2",
                                 std::vector<std::string> overrides = {}) {
  const auto x = cubes.find('x');
  overrides.push_back("system.sips.count=" + std::to_string(sips));
  overrides.push_back("sip.cube_mesh.w=" + cubes.substr(0, x));
  overrides.push_back("sip.cube_mesh.h=" + cubes.substr(x + 1));
  return load(std::move(overrides));
}

/// What each rank failed with.
inline std::map<int, std::string> failures(const std::function<void()>& call) {
  std::map<int, std::string> texts;
  try {
    call();
  } catch (const SpawnException& e) {
    for (const auto& [rank, cause] : e.causes()) try {
        std::rethrow_exception(cause);
      } catch (const std::exception& failure) {
        texts[rank] = failure.what();
      }
  }
  return texts;
}

/// i32 elements that depend on rank and place.
inline NdArray numbers(const Shape& shape, int rank) {
  NdArray array(i32, shape);
  std::int32_t i = 0;
  for (auto& x : array.view<std::int32_t>()) x = (i++ * 7 + rank * 13) % 101 - 50;
  return array;
}

/// The elements of `numbers` added up over ranks.
inline NdArray sum_of(const Shape& shape, const std::vector<int>& ranks) {
  NdArray sum(i32, shape);
  for (const int rank : ranks) {
    const NdArray one = numbers(shape, rank);
    for (std::size_t i = 0; i < sum.view<std::int32_t>().size(); ++i)
      sum.view<std::int32_t>()[i] += one.view<std::int32_t>()[i];
  }
  return sum;
}

/// Runs `fn` on every rank, each with its device set, in an initialized process group.
inline void on_all_ranks(Torch& torch, const std::function<void(int rank)>& fn) {
  if (!is_initialized(torch)) init_process_group(torch);
  spawn(
      torch,
      [&](int rank) {
        torch.ahbm.set_device(rank);
        fn(rank);
      },
      get_world_size(torch));
}

/// Ranks are the first `n` PEs.
inline void use_pes(Torch& torch, int n, const std::string& algorithm = "ring_allreduce") {
  configure_further(
      torch, {"defaults.algorithm=" + algorithm, fmt::format("algorithms.{}.world_size={}", algorithm, n)});
}

}  // namespace kernbench::dist
