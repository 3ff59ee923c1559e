#include <fmt/format.h>

#include "base/text.hpp"
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
  std::vector<std::pair<std::string, std::vector<std::string>>> failures;
  for (const auto& [rank, cause] : causes) {
    const std::string text = text_of(cause);
    const auto known = std::ranges::find(failures, text, &decltype(failures)::value_type::first);
    auto& ranks = known != failures.end() ? known->second
                                          : failures.emplace_back(text, std::vector<std::string>()).second;
    ranks.push_back(std::to_string(rank));
  }
  std::vector<std::string> lines;
  for (const auto& [text, ranks] : failures)
    lines.push_back(fmt::format("rank{} {}: {}", ranks.size() > 1 ? "s" : "", join(ranks), text));
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
  State& state = State::of(torch.engine());
  check_count(state, nprocs);
  Ranks ranks(torch.engine(), nprocs, fn,
              {.on_end = [&](int rank) { state.rank_ended(rank); }, .on_stall = [&] { state.stalled(); }});
  state.run(ranks);
}

int get_rank(const Torch& torch) {
  const State& state = State::of(torch.engine());
  if (!state.inside_spawn()) warn("get_rank() outside of spawn is 0, whatever the device");
  return state.rank();
}

}  // namespace kernbench::dist
