#include "cli/run_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>

#include "base/append.hpp"
#include "base/text.hpp"
#include "cli/percent.hpp"
#include "topology/figures.hpp"

namespace kernbench::cli {
namespace {

using bench::LaunchResult;
using bench::RunResult;

constexpr std::size_t kLeastName = 16, kMostName = 40, kLeastShare = 24;  // widths of names
constexpr std::size_t kMostLaunches = 10;
constexpr std::size_t kMostResources = 5, kMostLines = 8;
constexpr std::size_t kMostHazards = 5;

/// What of the time was needed at least.
std::string share_of(Time part, Time whole) { return whole == Time() ? "" : percent(part.ns() / whole.ns()); }

/// The compulsory bound of an operation, and what its launch has to say.
std::string note_of(const runtime::Trace& trace) {
  return trace.note.empty() ? "" : fmt::format(" {:>14.3f}  {}", trace.compulsory.ns(), trace.note);
}

/// As wide as the longest name that is shown, within limits.
std::size_t name_width(std::span<const LaunchResult> launches) {
  std::size_t width = kLeastName;
  for (const LaunchResult& launch : launches) width = std::max(width, launch.trace.name.size());
  return std::min(width, kMostName);
}

void put_launches(std::string& out, const RunResult& result) {
  const auto rows = std::span(result.launches).first(std::min(result.launches.size(), kMostLaunches));
  const std::size_t width = name_width(rows);
  const bool notes = std::ranges::any_of(rows, [](const LaunchResult& l) { return !l.trace.note.empty(); });
  append(out, "{:<{}} {:>3} {:>14} {:>14} {:>12} {:>14} {:>14} {:>8}{}\n", "launch", width, "sip", "total ns",
         "pe_exec ns", "network ns", "queued ns", "lower bound", "of exec",
         notes ? "     compulsory  note" : "");
  for (const auto& [trace, bound, number] : rows)
    append(out, "{:<{}} {:>3} {:>14.3f} {:>14.3f} {:>12.3f} {:>14.3f} {:>14.3f} {:>8}{}\n",
           shown(trace.name, width - (trace.name.size() > width)), width, trace.sip, trace.total_ns(),
           trace.pe_exec_ns(), trace.network_ns(), trace.queued_ns(), bound.time.ns(),
           share_of(bound.time, trace.pe_exec), note_of(trace));
  if (rows.size() < result.launches.size())
    append(out, "and {} more\n", result.launches.size() - rows.size());
  out += '\n';
}

void put_utilization(std::string& out, const bench::Utilization& u) {
  const std::string where = u.busiest_link.empty() ? "" : fmt::format(" ({})", u.busiest_link);
  append(out,
         "utilisation      gemm {}, math {}, dma_read {}, dma_write {}\n"
         "                 HBM {}, busiest link {}{}\n",
         percent(u.engines.gemm), percent(u.engines.math), percent(u.engines.dma_read),
         percent(u.engines.dma_write), percent(u.hbm), percent(u.link_max), where);
}

/// Sizes for which the prices of memories are, where the machine's memories are larger.
std::vector<std::string> sizes_of_prices(const topology::Machine& machine) {
  std::vector<std::string> sizes;
  const auto add = [&](const char* name, const char* path, const char* bank) {
    if (!machine.has("energy") || !machine.at("energy").has(bank)) return;
    const Bytes of = Bytes(1024) * machine.at("energy").integer(bank),
                size = machine.at(path).bytes("capacity_mb");
    if (size > of)
      sizes.push_back(fmt::format("{} of {} as banks of {}", name, to_string(size), to_string(of)));
  };
  add("TCM", "pe.pe_tcm", "tcm_bank_kb");
  add("SRAM", "cube.sram", "sram_bank_kb");
  return sizes;
}

/// The parts that take most, then the power.
void put_energy(std::string& out, const RunResult& result) {
  if (!result.energy) return;
  const trace::EnergyReport& energy = *result.energy;
  std::vector<std::pair<Energy, std::string_view>> parts;
  for (std::size_t i = 0; i < trace::kEnergyParts; ++i)
    if (energy.parts[i] != Energy())
      parts.emplace_back(energy.parts[i], to_string(static_cast<EnergyPart>(i)));
  std::ranges::stable_sort(parts, std::greater(), [](const auto& part) { return part.first; });
  std::vector<std::string> shares;
  for (const auto& [part, name] : parts)
    shares.push_back(fmt::format("{} {}", name, percent(part.joules() / energy.total().joules())));
  append(out, "energy           {}{}{}\n", to_string(energy.total()), shares.empty() ? "" : ": ",
         join(shares));
  append(out, "power            {} on average, {} at most (over {}, from {} on){}\n",
         trace::watts_text(energy.average_w()), trace::watts_text(energy.peak_w()), to_string(energy.window),
         to_string(energy.peak_at()),
         energy.macs == 0 ? ""
                          : fmt::format("; {:.3f} pJ per FLOP, {:.3f} without static", energy.pj_per_flop(),
                                        energy.dynamic_pj_per_flop()));
  if (const auto sizes = sizes_of_prices(result.machine); !sizes.empty())
    append(out, "                 priced: {}\n", join(sizes));
  if (!energy.unpriced.empty()) append(out, "                 without a price: {}\n", join(energy.unpriced));
}

void put_bound(std::string& out, const bench::LowerBound& bound) {
  if (bound.time == Time()) return;
  append(out, "lower bound      {}, set by {}\n", to_string(bound.time), bound.resource);
  for (const std::string& name : bound.without)
    append(out, "                 without {}, which gives no least time\n", name);
}

void put_shares(std::string& out, const char* title, std::span<const trace::Share> shares,
                std::size_t width) {
  for (std::size_t i = 0; i < shares.size(); ++i)
    append(out, "{:<16} {:<{}} {:>14.3f} ns {:>7}\n", i == 0 ? title : "", shares[i].name, width,
           shares[i].time.ns(), percent(shares[i].fraction));
}

/// By resource and by source line, in the same columns.
void put_critical_path(std::string& out, const trace::CriticalPath& path) {
  const auto top = [](const std::vector<trace::Share>& shares, std::size_t most) {
    return std::span(shares).first(std::min(shares.size(), most));
  };
  const auto resources = top(path.by_resource, kMostResources), lines = top(path.by_line, kMostLines);
  std::size_t width = kLeastShare;
  for (const trace::Share& share : lines) width = std::max(width, share.name.size());
  put_shares(out, "critical path", resources, width);
  put_shares(out, "by source line", lines, width);
}

/// Buffers are unbounded in the model: where hardware would push back.
void put_deepest_queue(std::string& out, const RunResult& result) {
  if (result.links.empty()) return;
  const runtime::LinkQueue& deepest = result.links.front();
  append(out, "deepest queue    {:.0f} B, {} of waiting at {}; {}\n", deepest.deepest_bytes,
         to_string(deepest.deepest_wait), deepest.link,
         topology::count_text(static_cast<std::int64_t>(result.links.size()), "link", "links") + " had one");
}

/// Where the memory counts what it does: the busiest slice.
void put_dram(std::string& out, const RunResult& result) {
  if (result.slices.empty()) return;
  const auto& [slice, a] = result.slices.front();
  const auto share = [&](Time part) { return percent(part.ns() / a.waited_for().ns()); };
  const double bursts = static_cast<double>(a.reads + a.writes);
  append(out,
         "DRAM             {} of the time something waited for {}: data {}, rows {}, bank groups {}, turns "
         "{}, refresh {}; {} row hits\n",
         percent(a.waited_for().ns() / static_cast<double>(a.channels) / result.total.ns()), slice,
         share(a.data), share(a.rows), share(a.groups), share(a.turns), share(a.refresh),
         percent(static_cast<double>(a.hits) / bursts));
}

std::string count_of(std::uint64_t n, const char* one, const char* many) {
  return topology::count_text(static_cast<std::int64_t>(n), one, many);
}

void put_push_back(std::string& out, const RunResult& result) {
  const std::optional<bench::PushBack> all = bench::push_back(result);
  if (!all || !all->most) return;
  if (all->credits) {
    append(out, "push-back        {} stood idle for want of room beyond, {} in all; most, {} in {}, at {}\n",
           count_of(all->links, "link", "links"), to_string(all->stalled), to_string(all->most->stalled),
           count_of(all->most->stalls, "stall", "stalls"), all->most->link);
    return;
  }
  append(out,
         "push-back        {} found more than {} before them in a router, at {}; most, {}, at {}: hardware "
         "would have held up their senders\n",
         count_of(all->packets, "packet", "packets"), all->buffer_packets,
         count_of(all->links, "link", "links"), all->most->pushed_back, all->most->link);
}

void put_hazards(std::string& out, const RunResult& result) {
  if (!result.hazards) {
    out += "hazards          not looked for (--hazards does)\n";
    return;
  }
  const auto& hazards = *result.hazards;
  append(out, "hazards          {}\n", hazards.empty() ? "none" : std::to_string(hazards.size()));
  for (std::size_t i = 0; i < std::min(hazards.size(), kMostHazards); ++i)
    append(out, "  {}\n", hazards[i].text);
  if (hazards.size() > kMostHazards) append(out, "  and {} more\n", hazards.size() - kMostHazards);
}

}  // namespace

std::string run_headline(const RunResult& result) {
  std::string out = fmt::format("{}\n", result.report.text().empty() ? result.bench : result.report.text());
  for (const std::string& complaint : result.report.complaints())
    out += fmt::format("[FAIL] {}\n", complaint);
  for (const LaunchResult* launch : result.beaten_bounds())
    out += fmt::format("[FAIL] launch '{}' took {}, less than the {} that {} needs: an error of the model\n",
                       launch->trace.name, to_string(launch->trace.pe_exec), to_string(launch->bound.time),
                       launch->bound.resource);
  if (result.strict && result.hazards && !result.hazards->empty())
    out += fmt::format("[FAIL] hazards: {} (--strict); the first: {}\n", result.hazards->size(),
                       result.hazards->front().text);
  return out;
}

std::string run_summary(const RunResult& result) {
  std::string out;
  put_launches(out, result);
  append(out, "simulated        {} in all, {} records, hash {:016x}\n", to_string(result.total),
         result.summary.records, result.hash);
  put_utilization(out, result.utilization);
  put_energy(out, result);
  put_deepest_queue(out, result);
  put_push_back(out, result);
  put_dram(out, result);
  put_bound(out, result.lower_bound);
  if (result.log)
    put_critical_path(out, result.critical_path);
  else
    out += "critical path    not known: records were not kept (--log none)\n";
  put_hazards(out, result);
  const std::vector<std::string> idealised = result.machine.idealised();
  append(out, "machine          {}{}\n", result.machine.source(),
         idealised.empty() ? "" : fmt::format("; idealised: {}", join(idealised)));
  append(out, "collectives      {}\n", result.ccl);
  for (const std::string& warning : result.warnings) append(out, "warning          {}\n", warning);
  append(out, "wall             {:.3f} s, {:.1f} M events, {:.0f} MB\n", result.wall.seconds,
         static_cast<double>(result.wall.events) / 1e6, result.wall.peak_rss_mb);
  if (result.wall.taken_over > 0)
    append(out, "taken over       {} of {} launches came again in the same state and were not simulated\n",
           result.wall.taken_over, result.launches.size());
  return out;
}

}  // namespace kernbench::cli
