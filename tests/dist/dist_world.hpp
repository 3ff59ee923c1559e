// Machines and helpers for tests of ranks and collectives.
#pragma once

#include <random>

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

}  // namespace kernbench::dist
