#include "trace/run_info.hpp"

#include <future>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "kernbench/error.hpp"
#include "kernbench/program.hpp"

namespace kernbench::trace {
namespace {

std::string name_of(std::string_view path) {
  const auto slash = path.find_last_of("/\\");
  return std::string(slash == path.npos ? path : path.substr(slash + 1));
}

/// Gives every source line of a run one number.
class LineTable {
 public:
  explicit LineTable(std::vector<LineInfo>& lines) : lines_(lines) {}

  std::uint32_t id(isa::SourceLine at) {
    std::pair key(name_of(at.file), at.line);
    const auto [found, is_new] = ids_.try_emplace(key, static_cast<std::uint32_t>(lines_.size()));
    if (is_new) lines_.push_back({std::move(key.first), key.second});
    return found->second;
  }

  /// The line of every command. Commands that share the program's entry share ours, so most need no look at the text.
  std::vector<std::uint32_t> of(const isa::Program& program) {
    constexpr auto kUnknown = UINT32_MAX;
    std::vector<std::uint32_t> known, result;
    result.reserve(program.commands().size());
    for (const auto& c : program.commands()) {
      if (c.line >= known.size()) known.resize(c.line + 1, kUnknown);
      if (known[c.line] == kUnknown) known[c.line] = id(program.line(c));
      result.push_back(known[c.line]);
    }
    return result;
  }

 private:
  std::vector<LineInfo>& lines_;
  std::map<std::pair<std::string, std::uint32_t>, std::uint32_t> ids_;
};

/// Computes the fingerprints that are missing, of the origins from `first` on that `infos` stands for.
void add_fingerprints(std::span<OriginInfo> infos, const device::Origins& origins, std::size_t first) {
  std::vector<const isa::Program*> programs;
  std::vector<OriginInfo*> of;
  for (std::size_t i = 0; i < infos.size(); ++i)
    if (const auto& origin = origins[first + i]; origin.program != nullptr && origin.fingerprint == 0)
      programs.push_back(origin.program), of.push_back(&infos[i]);
  const auto fingerprints = isa::Program::fingerprints(programs);
  for (std::size_t i = 0; i < of.size(); ++i) of[i]->fingerprint = fingerprints[i];
}

}  // namespace

RunInfo describe_run(std::string machine, const device::Origins& origins,
                     std::span<const std::string> requests, int threads) {
  constexpr std::size_t kWorthAThread = 16384;  // commands
  RunInfo info{std::move(machine), {}, {}};
  LineTable table(info.lines);
  std::size_t commands = 0;
  info.origins.reserve(origins.size());
  for (std::size_t i = 0; i < origins.size(); ++i) {
    const device::Origin& origin = origins[i];
    KB_ASSERT(origin.launch < requests.size(), "an origin belongs to request {}, but the run had {}",
              origin.launch, requests.size());
    auto& out = info.origins.emplace_back(OriginInfo{origin.pe, origin.launch, {}, 0, {}});
    out.fingerprint = origin.fingerprint;
    if (const auto* program = origin.program; program != nullptr && origin.fingerprint == 0) {
      out.name = program->kernel();
      out.lines = table.of(*program);
      commands += out.lines.size();
    } else {
      out.name = requests[origin.launch];
    }
  }
  const bool shared = threads != 1 && commands >= kWorthAThread;
  const std::span all(info.origins);
  const std::size_t middle = all.size() / 2;
  auto half = std::async(shared ? std::launch::async | std::launch::deferred : std::launch::deferred,
                         [&] { add_fingerprints(all.subspan(middle), origins, middle); });
  add_fingerprints(all.first(middle), origins, 0);
  half.get();
  return info;
}

}  // namespace kernbench::trace
