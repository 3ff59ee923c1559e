#include "report/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/append.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "ccl/config.hpp"
#include "report/knobs.hpp"
#include "report/reading.hpp"
#include "report/saved_dram.hpp"
#include "report/saved_energy.hpp"

namespace kernbench::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostLines = 8, kMostLaunches = 10, kMostLimits = 5, kMostQueues = 3, kMostFull = 10;

std::string share_text(double share) { return fmt::format("{:.1f} %", 100 * share); }

/// Waits on the critical path, and what can be done about each.
std::string_view remedy(std::string_view wait) {
  static const std::map<std::string_view, std::string_view> kRemedies = {
      {"wait_operand", "an operand was not ready: issue its load or product earlier"},
      {"wait_engine", "the engine was at work on another command: share the work among more PEs"},
      {"wait_queue", "the engine's command queue was full: pe.pe_cpu.queue_depth"},
      {"wait_credit", "no free slot in a queue, or no message in it: ccl.defaults.n_slots, or send earlier"},
      {"wait_scratch", "no room for the result: smaller tiles, or pe.pe_tcm.kernel_scratch_mb"},
      {"wait_issue", "the PE's CPU had not come to it: fewer, larger commands; fewer waits and fences"},
      {"wait_start", "the host had not asked for it yet"},
  };
  const auto found = kRemedies.find(wait);
  return found == kRemedies.end() ? "" : found->second;
}

class Explanation {
 public:
  explicit Explanation(const SavedRun& run) : run_(run), path_(run.critical_path()), lines_(run.lines()) {}

  std::string text() {
    headline();
    limits();
    shares("where the time went, by resource", path_.by_resource);
    shares("by what held operations up", path_.by_reason);
    by_line();
    waits();
    dram();
    queues();
    launches();
    energy();
    return std::move(out_);
  }

 private:
  template <class... Args>
  void put(fmt::format_string<Args...> text, Args&&... args) {
    append(out_, text, std::forward<Args>(args)...);
  }

  void headline() {
    const std::string bench = run_.value("bench");
    put("{}: {}, hash {}\n", bench.empty() ? "a program of one's own" : bench, to_string(run_.total()),
        run_.value("hash"));
    if (const std::string failure = run_.value("failure"); !failure.empty())
      put("the run failed, and what follows is about what it did before:\n  {}\n", failure);
    if (!run_.complete())
      put("the file keeps {} of {} operations (--save-ops); times of engines are of those\n",
          run_.value("ops_kept"), run_.value("ops"));
    const double bound = std::strtod(run_.value("lower_bound_ns").c_str(), nullptr);
    if (bound > 0 && run_.total() > Time())
      put("lower bound {:.3f} ns, {} of the run, set by {}\n", bound, share_text(bound / run_.total().ns()),
          run_.value("bound_by"));
  }

  void limits() {
    const std::vector<Limit> found = find_limits(run_);
    put("\nwhat limits it\n");
    if (found.empty()) put("  nothing in particular\n");
    for (std::size_t i = 0; i < std::min(found.size(), kMostLimits); ++i) {
      const Limit& limit = found[i];
      put("{:>2}. {:<14} {:>8}  {}{}{}\n", i + 1, to_string(limit.kind), share_text(limit.share), limit.where,
          limit.where.empty() ? "" : ": ", limit.why);
      if (i == 0) put("    → {}\n", limit.advice);
    }
  }

  void shares(const char* title, const std::vector<trace::Share>& all) {
    put("\n{}\n", title);
    for (const trace::Share& s : all)
      put("  {:<16} {:>14.3f} ns {:>8}\n", s.name, s.time.ns(), share_text(s.fraction));
  }

  std::string_view source_of(const std::string& place) const {
    const auto found = std::ranges::find(lines_, place, &SavedLine::place);
    return found == lines_.end() || !found->text ? std::string_view() : std::string_view(*found->text);
  }

  void by_line() {
    put("\nby source line\n");
    std::size_t width = 16;
    const std::size_t rows = std::min(path_.by_line.size(), kMostLines);
    for (std::size_t i = 0; i < rows; ++i) width = std::max(width, path_.by_line[i].name.size());
    for (std::size_t i = 0; i < rows; ++i) {
      const trace::Share& s = path_.by_line[i];
      put("  {:<{}} {:>14.3f} ns {:>8}  {}\n", s.name, width, s.time.ns(), share_text(s.fraction),
          source_of(s.name));
    }
    if (rows < path_.by_line.size()) put("  and {} more\n", path_.by_line.size() - rows);
  }

  void waits() {
    std::string found;
    for (const trace::Share& s : path_.by_resource)
      if (s.name.starts_with("wait_"))
        found += fmt::format("  {:<16} {:>14.3f} ns {:>8}  {}\n", s.name, s.time.ns(), share_text(s.fraction),
                             remedy(s.name));
    if (!found.empty()) put("\nwhat it waited for that it need not have\n{}", found);
  }

  /// What kept the pseudo-channels of the busiest slice from moving data.
  void dram() {
    const std::optional<SavedDram> dram = saved_dram(run_);
    if (!dram) return;
    put("\nthe DRAM of {}, the busiest of {}: something waited for it {} of the time\n", dram->slice,
        dram->slices, share_text(dram->wanted));
    for (const SavedDram::Part& part : dram->parts)
      if (part.share > 0) put("  {:<16} {:>8}\n", part.name, share_text(part.share));
    put("  of {} bursts {} hit an open row, {} found none open, {} another one\n", dram->bursts,
        share_text(dram->hits), share_text(dram->closed), share_text(dram->conflicts));
  }

  /// Links whose queues were deepest; and where hardware would have held up senders, if somebody looked.
  void queues() {
    std::vector<SavedLink> links = run_.links();
    std::ranges::stable_sort(links, std::greater(), &SavedLink::deepest_wait);
    std::erase_if(links, [](const SavedLink& l) { return l.deepest_wait == Time(); });
    if (links.empty()) return;
    put("\nthe deepest queues, of {} at links\n", links.size());
    for (std::size_t i = 0; i < std::min(links.size(), kMostQueues); ++i)
      put("  {:>12.3f} ns, {:.0f} B before a packet at {}\n", links[i].deepest_wait.ns(),
          links[i].deepest_wait.ns() * links[i].bandwidth_gbs, links[i].name);
    push_back();
  }

  /// Where router buffers were full: how many packets came too early, or for how long links stood idle.
  void push_back() {
    const std::string text = run_.value("push_back");
    if (text.empty()) return;  // saved before anybody looked
    const Json all = parse_json(text);
    if (all.is_null() || all.at("links").get<std::uint64_t>() == 0) return;
    const bool credits = all.at("flow") == "credits";
    if (credits)
      put("links stood idle for {:.3f} ns in all, for want of room in the next router\n",
          all.at("stalled_ns").get<double>());
    else
      put("{} packets found more than {} before them in a router: hardware would have held up their "
          "senders\n",
          all.at("packets").get<std::uint64_t>(), all.at("buffer_packets").get<std::int64_t>());
    full_links(credits ? "stalled_ns" : "pushed_back", credits ? "ns" : "packets");
  }

  /// The worst first.
  void full_links(const char* key, const char* unit) {
    std::vector<std::pair<double, std::string>> links;
    for (const Json& link : parse_json(run_.value("links")))
      if (const auto amount = link.at(key).get<double>(); amount > 0)
        links.emplace_back(amount, link.at("link").get<std::string>());
    std::ranges::stable_sort(links, std::greater(), [](const auto& link) { return link.first; });
    for (std::size_t i = 0; i < std::min(links.size(), kMostFull); ++i)
      put("  {:>12g} {} at {}\n", links[i].first, unit, links[i].second);
    if (links.size() > kMostFull) put("  and {} more\n", links.size() - kMostFull);
  }

  void launches() {
    put("\nwhat limits each launch\n");
    std::size_t shown = 0, kernels = 0;
    for (const SavedLaunch& l : run_.launches()) {
      if (l.phase != "launch" || !l.done) continue;
      if (++kernels > kMostLaunches) continue;
      ++shown;
      put("  {:<20} {:>14.3f} ns", shown_name(l.name), l.pe_exec.ns());
      launch_bound(l);
    }
    if (shown < kernels) put("  and {} more\n", kernels - shown);
  }

  static std::string shown_name(const std::string& name) { return shown(name, 20); }

  void launch_bound(const SavedLaunch& l) {
    constexpr double kNear = 0.9;
    if (l.lower_bound == Time() || l.pe_exec == Time()) return put("\n");
    const double share = l.lower_bound.ns() / l.pe_exec.ns();
    put("  {:>8} of it is the least that {} needs: {}\n", share_text(share), l.bound_by,
        share >= kNear ? "it is at its bound" : "latency, dependencies or sharing take the rest");
  }

  /// Parts and operations, the largest first.
  void energy() {
    const Json all = saved_energy(run_);
    if (all.is_null()) return;
    put("\nwhere the energy went: {:.3f} uJ, {:.3f} W on average, {:.3f} W at most\n",
        all.at("total_pj").get<double>() / 1e6, all.at("average_w").get<double>(),
        all.at("peak_w").get<double>());
    for (const char* view : {"parts", "operations"}) {
      std::vector<std::pair<double, std::string>> rows;
      for (const auto& [name, value] : all.at(view).items())
        if (value.at("pj").get<double>() > 0) rows.emplace_back(value.at("pj").get<double>(), name);
      std::ranges::stable_sort(rows, std::greater(), [](const auto& row) { return row.first; });
      put("  by {}\n", view == std::string_view("parts") ? "part" : "operation");
      for (const auto& [pj, name] : rows)
        put("    {:<14} {:>16.3f} uJ {:>8}\n", name, pj / 1e6,
            share_text(pj / all.at("total_pj").get<double>()));
    }
    if (!all.at("pj_per_flop").is_null())
      put("  {:.3f} pJ per FLOP, {:.3f} without static\n", all.at("pj_per_flop").get<double>(),
          all.at("dynamic_pj_per_flop").get<double>());
    for (const auto& key : all.at("unpriced")) put("  without a price: {}\n", key.get<std::string>());
  }

  const SavedRun& run_;
  const SavedPath path_;
  const std::vector<SavedLine> lines_;
  std::string out_;
};

Json json_of(const std::vector<trace::Share>& shares, const char* key) {
  Json list = Json::array();
  for (const auto& s : shares) list.push_back({{key, s.name}, {"ns", s.time.ns()}, {"share", s.fraction}});
  return list;
}

std::string change_text(Time before, Time after) {
  const double by = before == Time() ? 0 : 100 * (after.ns() - before.ns()) / before.ns();
  return after == before ? "no change" : fmt::format("{:+.1f} %", by);
}

}  // namespace

std::string explanation(const SavedRun& run) {
  return reading(run.path(), [&] { return Explanation(run).text(); });
}

namespace {

/// Shares of the busiest slice's time; null without a memory that counts.
Json dram_json(const SavedRun& run) {
  const std::optional<SavedDram> dram = saved_dram(run);
  if (!dram) return nullptr;
  Json parts = Json::array();
  for (const SavedDram::Part& part : dram->parts)
    parts.push_back({{"part", part.name}, {"share", part.share}});
  return {{"slice", dram->slice},       {"slices", dram->slices},
          {"wanted", dram->wanted},     {"parts", parts},
          {"bursts", dram->bursts},     {"row_hits", dram->hits},
          {"row_closed", dram->closed}, {"row_conflicts", dram->conflicts}};
}

std::string json_of(const SavedRun& run) {
  Json limits = Json::array();
  for (const Limit& limit : find_limits(run))
    limits.push_back({{"kind", to_string(limit.kind)},
                      {"where", limit.where},
                      {"share", limit.share},
                      {"why", limit.why},
                      {"advice", limit.advice}});
  const SavedPath path = run.critical_path();
  Json launches = Json::array();
  for (const SavedLaunch& l : run.launches())
    if (l.phase == "launch" && l.done)
      launches.push_back({{"name", l.name},
                          {"pe_exec_ns", l.pe_exec.ns()},
                          {"lower_bound_ns", l.lower_bound.ns()},
                          {"bound_by", l.bound_by}});
  const Json all = {{"total_ns", run.total().ns()},
                    {"limits", limits},
                    {"critical_path", json_of(path.by_resource, "resource")},
                    {"by_reason", json_of(path.by_reason, "reason")},
                    {"by_line", json_of(path.by_line, "line")},
                    {"launches", launches},
                    {"dram", dram_json(run)},
                    {"energy", saved_energy(run)}};
  return dump_json(all, 2) + "\n";
}

}  // namespace

std::string explanation_json(const SavedRun& run) {
  return reading(run.path(), [&] { return json_of(run); });
}

std::string variants_text(const SavedRun& run, const std::vector<Variant>& variants,
                          const std::vector<VariantResult>& results, bool by_gain) {
  std::vector<std::size_t> order(variants.size());
  std::iota(order.begin(), order.end(), 0);
  if (by_gain)
    std::ranges::stable_sort(
        order, {}, [&](std::size_t i) { return std::pair(!results[i].failure.empty(), results[i].total); });
  std::size_t width = 16;
  for (const Variant& v : variants) width = std::max(width, v.name.size());
  std::string out = fmt::format("{:<{}} {:>16} {:>10}  {}\n{:<{}} {:>16.3f} {:>10}\n", "machine", width, "ns",
                                "change", "now most of the path", "as it ran", width, run.total().ns(), "");
  for (const std::size_t i : order) {
    const VariantResult& r = results[i];
    if (!r.failure.empty()) {
      append(out, "{:<{}} {}\n", variants[i].name, width, r.failure);
      continue;
    }
    append(out, "{:<{}} {:>16.3f} {:>10}  {} {}", variants[i].name, width, r.total.ns(),
           change_text(run.total(), r.total), r.limit, share_text(r.limit_share));
    if (by_gain) append(out, "  {}", join(variants[i].overrides, " "));
    out += '\n';
  }
  return out;
}

std::string variants_json(const SavedRun& run, const std::vector<Variant>& variants,
                          const std::vector<VariantResult>& results) {
  Json list = Json::array();
  for (std::size_t i = 0; i < variants.size(); ++i) {
    Json one = {{"name", variants[i].name}, {"set", variants[i].overrides}};
    if (!results[i].failure.empty()) {
      one["failure"] = results[i].failure;
    } else {
      one["total_ns"] = results[i].total.ns();
      one["gain_ns"] = (run.total() - results[i].total).ns();
      one["op_log_hash"] = fmt::format("{:016x}", results[i].hash);
      one["limit"] = results[i].limit;
    }
    list.push_back(std::move(one));
  }
  const Json all = {{"total_ns", run.total().ns()}, {"variants", list}};
  return dump_json(all, 2) + "\n";
}

std::vector<Variant> what_if(const std::vector<std::string>& changes) {
  std::vector<Variant> variants;
  for (const std::string& change : changes) variants.push_back({change, {change}});
  if (changes.size() > 1) variants.push_back({"all of these", changes});
  return variants;
}

std::vector<Variant> sensitivity(const Rerun& rerun) {
  const ccl::Config config = rerun.collectives();
  return twice_as_fast(rerun.machine(), config.settings(config.algorithm()).rules.slots);
}

}  // namespace kernbench::report
