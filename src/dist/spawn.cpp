#include <fmt/format.h>

#include "base/text.hpp"
#include "dist/fiber.hpp"
#include "dist/said.hpp"
#include "dist/state.hpp"

namespace kernbench::dist {
namespace {

std::string text_of(const std::exception_ptr& cause) {
  try {
    std::rethrow_exception(cause);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "something that is no std::exception";
  }
}

/// Ranks that failed alike together, each failure with its ranks.
Error::Info info_of(const std::map<int, std::exception_ptr>& causes) {
  Said said;
  for (const auto& [rank, cause] : causes) said.add(rank, text_of(cause));
  const auto failures = said.groups();
  std::vector<std::string> lines;
  for (const auto& [text, ranks] : failures) {
    if (lines.size() == Said::kShown) {
      lines.push_back(fmt::format("… and {} other failures", failures.size() - lines.size()));
      break;
    }
    lines.push_back(fmt::format("{}: {}", ranks_text(ranks), text));
  }
  return {"dist.spawn-failed", "spawn", join(lines, "\n"), ""};
}

void check_count(const State& state, int nprocs) {
  if (state.inside_spawn())
    throw InputError({"dist.spawn", "spawn", "a rank spawns ranks", "spawn from the host program alone"});
  if (nprocs < 1 || nprocs > state.world_size())
    throw InputError({"dist.spawn", "spawn", fmt::format("nprocs is {}", nprocs),
                      fmt::format("every rank has a device of its own: 1 to {}", state.world_size())});
}

}  // namespace

SpawnException::SpawnException(std::map<int, std::exception_ptr> causes)
    : Error(info_of(causes)), causes_(std::move(causes)) {}

void spawn(Torch& torch, const std::function<void(int rank)>& fn, int nprocs) {
  Fibers fibers;
  spawn(torch, fn, nprocs, fibers);
}

void spawn(Torch& torch, const std::function<void(int rank)>& fn, int nprocs, Strands& strands) {
  State& state = State::of(torch.engine());
  check_count(state, nprocs);
  Ranks ranks(torch.engine(), nprocs, fn,
              {.on_end = [&](int rank) { state.rank_ended(rank); }, .on_stall = [&] { state.stalled(); }},
              strands);
  state.run(ranks);
}

void cooperative_yield(Torch& torch) { State::of(torch.engine()).yield(); }

int get_rank(const Torch& torch) {
  const State& state = State::of(torch.engine());
  if (!state.inside_spawn()) warn("get_rank() outside of spawn is 0, whatever the device");
  return state.rank();
}

}  // namespace kernbench::dist
